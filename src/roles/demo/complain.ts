/** On standard error, because standard output is for the report. */
export function complain(what: string, cause: unknown): void {
  process.stderr.write(`${what}: ${cause instanceof Error ? cause.message : String(cause)}\n`)
}
