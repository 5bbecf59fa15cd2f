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
