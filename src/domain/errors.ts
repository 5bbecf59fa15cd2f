/**
 * Something outside this program failed: a socket, a reply, a file, a chain. It is expected to happen
 * and is handled; a broken invariant of our own is an AssertionError instead.
 */
export class OperatingError extends Error {
  /** Stable, for logs and metrics. Never changes its meaning. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OperatingError'
    this.code = code
  }
}

/** Whether the system found nothing under that name. Anything else that it refused may well be there. */
export function isAbsence(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

/** What went wrong, from the outermost error to the innermost; nothing is said twice. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const words = error.message === '' && 'code' in error ? String(error.code) : error.message
  const inner = error.cause instanceof Error ? reasonOf(error.cause) : ''
  return words.includes(inner) ? words : `${words}: ${inner}`
}
