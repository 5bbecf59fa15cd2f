/** An expected failure outside this program: a socket, reply, file or chain. Broken invariants are AssertionErrors. */
export class OperatingError extends Error {
  /** Stable, for logs and metrics. Never changes its meaning. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OperatingError'
    this.code = code
  }
}

/** Whether a file does not exist (ENOENT). */
export function isAbsence(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

/** Messages from the outermost error to the innermost, without repetitions. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const message = error.message === '' && 'code' in error ? String(error.code) : error.message
  const inner = error.cause instanceof Error ? reasonOf(error.cause) : ''
  return message.includes(inner) ? message : `${message}: ${inner}`
}
