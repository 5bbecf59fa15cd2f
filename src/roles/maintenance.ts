import { ConfigError } from '../config/config-error.ts'
import type { AdminOptions } from '../config/option.ts'
import { OperatingError } from '../domain/errors.ts'
import { adminRequest, adminUrl } from './admin-client.ts'

const TIMEOUT_MS = 5_000

/** `perpscope maintenance on|off`: sets maintenance mode of the service on this machine. */
export async function setMaintenance(isOn: boolean, options: AdminOptions): Promise<string> {
  try {
    const { status, text } = await adminRequest(options, '/maintenance', {
      msMax: TIMEOUT_MS,
      body: { on: isOn },
    })
    if (status !== 200)
      throw new OperatingError('maintenance', `${adminUrl(options)}/maintenance: ${status} ${text}`)
  } catch (cause) {
    if (cause instanceof OperatingError || cause instanceof ConfigError) throw cause
    throw new OperatingError(
      'maintenance',
      `no service answers on admin port ${options.adminPort}; is it running, and is --admin-port the same?`,
      { cause },
    )
  }
  return isOn
    ? 'maintenance mode is on: paid paths answer 503 until you turn it off'
    : 'maintenance mode is off: the service sells again'
}
