import { OperatingError } from '../domain/errors.ts'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'this user may not listen on the port',
}

/** Waits until a server listens. @throws OperatingError naming the option for another port */
export async function listeningOn<Listening>(
  option: string,
  listening: Promise<Listening>,
): Promise<Listening> {
  try {
    return await listening
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const reason = reasons[code]
    if (reason === undefined) throw cause
    throw new OperatingError('port_fault', `${reason}; give another port with ${option}`, { cause })
  }
}
