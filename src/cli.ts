import { ConfigError } from './config/config-error.ts'
import { EXIT_UNAVAILABLE, EXIT_USAGE, UsageError } from './config/usage.ts'
import { OperatingError } from './domain/errors.ts'
import { terminalText } from './domain/printable.ts'
import { program } from './program.ts'

/** EX_CONFIG of sysexits(3): a restart with the same configuration fails again. */
const EXIT_CONFIG = 78

// A reader such as `head` may close the pipe early, which is not a failure.
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (cause.code === 'EPIPE') process.exit()
  throw cause
})

try {
  await program.parseAsync()
} catch (cause) {
  if (!isExpected(cause)) throw cause
  const why = cause.cause instanceof Error ? `: ${cause.cause.message}` : ''
  process.stderr.write(terminalText(`perpscope: ${cause.message}${why}\n`))
  process.exitCode = exitCodeOf(cause)
}

function exitCodeOf(cause: Error): number {
  if (cause instanceof UsageError) return EXIT_USAGE
  if (cause instanceof OperatingError && cause.code === 'node_unavailable') return EXIT_UNAVAILABLE
  return cause instanceof ConfigError ? EXIT_CONFIG : 1
}

/** Errors of operation or of the system, such as a used port. Other errors are defects and print their stack. */
function isExpected(cause: unknown): cause is Error {
  const isSystemError = cause instanceof Error && 'syscall' in cause
  const isOurs = [ConfigError, OperatingError, UsageError].some((kind) => cause instanceof kind)
  return isSystemError || isOurs
}
