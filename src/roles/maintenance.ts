import { request } from 'undici'
import { OperatingError } from '../domain/errors.ts'

const TIMEOUT_MS = 5_000

/** `perpscope maintenance on|off`: sets maintenance mode of the service on this machine. */
export async function setMaintenance(isOn: boolean, adminPort: number): Promise<string> {
  const url = `http://127.0.0.1:${adminPort}/maintenance`
  try {
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ on: isOn }),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    })
    const text = await body.text()
    if (statusCode !== 200) throw new OperatingError('maintenance', `${url}: ${statusCode} ${text}`)
  } catch (cause) {
    if (cause instanceof OperatingError) throw cause
    throw new OperatingError(
      'maintenance',
      `no service answers on admin port ${adminPort}; is it running, and is --admin-port the same?`,
      { cause },
    )
  }
  return isOn
    ? 'maintenance mode is on: paid paths answer 503 until you turn it off'
    : 'maintenance mode is off: the service sells again'
}
