import type { Command, CommanderError } from 'commander'
import { nearestNames } from '../domain/nearest-names.ts'
import { SettingOption } from './option.ts'

/** The convention of shells; 1 is for valid commands that failed. */
export const EXIT_USAGE = 2

/** EX_UNAVAILABLE of sysexits(3): a node did not answer, so the result is unknown. */
export const EXIT_UNAVAILABLE = 69

/** Ends the process after a wrong command line, or after help was printed. */
export function exitAfterUsage({ exitCode }: Pick<CommanderError, 'exitCode'>): never {
  process.exit(exitCode === 0 ? 0 : EXIT_USAGE)
}

/** The command line cannot be executed as given. */
export class UsageError extends Error {}

export const EXIT_CODES = `
Exit codes: 0 done, 1 failed, ${EXIT_USAGE} wrong usage, 78 unusable configuration.`

/** The variables of all commands, because they may share one file of settings. */
export function variablesOf(program: Command): ReadonlySet<string> {
  const commands = [program, ...program.commands]
  const options = commands.flatMap((command) => command.options)
  const variables = options.flatMap((option) => [
    option.envVar,
    option instanceof SettingOption ? option.fileVariable : null,
  ])
  return new Set(variables.filter((name) => typeof name === 'string'))
}

/**
 * Unknown variables. One that resembles a setting is a problem, because the setting would stay at its default; another
 * one may belong to a newer version that the operator also uses, and is ignored.
 */
export function unknownVariables(
  given: readonly string[],
  known: ReadonlySet<string>,
): { readonly ignored: readonly string[]; readonly problems: readonly string[] } {
  const ignored: string[] = []
  const problems: string[] = []
  for (const name of given) {
    if (known.has(name)) continue
    const [meant] = nearestNames(name, [...known])
    if (meant === undefined) ignored.push(name)
    else problems.push(`${name} is not a setting; did you mean ${meant}?`)
  }
  return { ignored, problems }
}
