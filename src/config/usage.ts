import type { Command, CommanderError } from 'commander'
import { nearestNames } from '../domain/nearest-names.ts'
import { ConfigError } from './config-error.ts'

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
  const variables = commands.flatMap(({ options }) => options.map(({ envVar }) => envVar))
  return new Set(variables.filter((name) => name !== undefined))
}

/**
 * Checks for misspelled variables, which would leave a setting at its default. Other unknown variables may belong to a
 * newer version that the operator also uses.
 * @returns the unknown variables that resemble no known one
 * @throws ConfigError for those that do
 */
export function unknownVariables(
  given: readonly string[],
  known: ReadonlySet<string>,
): readonly string[] {
  const unknown = given.filter((name) => !known.has(name))
  const slips = unknown.flatMap((name) => {
    const [meant] = nearestNames(name, [...known])
    return meant === undefined ? [] : [`${name} is not a setting; did you mean ${meant}?`]
  })
  if (slips.length > 0) throw new ConfigError(slips.join('\n'))
  return unknown
}
