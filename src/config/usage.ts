import type { Command, CommanderError } from 'commander'
import { nearestNames } from '../domain/nearest-names.ts'
import { ConfigError } from './config-error.ts'

/** As shells and most commands have it; 1 is for what was understood and failed. */
export const EXIT_USAGE = 2

/** Ends the process after a command line that was not understood, or that asked for help. */
export function exitAfterUsage({ exitCode }: Pick<CommanderError, 'exitCode'>): never {
  process.exit(exitCode === 0 ? 0 : EXIT_USAGE)
}

/** What was asked for cannot be done as it was asked. */
export class UsageError extends Error {}

export const EXIT_CODES = `
Exit codes: 0 done, 1 failed, ${EXIT_USAGE} wrong usage, 78 a configuration that nothing can be run with.`

/** The variables of all commands: they may share one file of settings. */
export function variablesOf(program: Command): ReadonlySet<string> {
  const commands = [program, ...program.commands]
  const variables = commands.flatMap(({ options }) => options.map(({ envVar }) => envVar))
  return new Set(variables.filter((name) => name !== undefined))
}

/**
 * A variable that is nearly one of ours is a slip, and would leave a setting at its default: the start is refused. Any
 * other may belong to a newer version, to which the operator wants to go back and forth: it is reported.
 * @returns those that are not known
 * @throws ConfigError
 */
export function unknownVariables(
  given: readonly string[],
  known: ReadonlySet<string>,
): readonly string[] {
  const unknown = given.filter((name) => !known.has(name))
  const slips = unknown.flatMap((name) => {
    const [meant] = nearestNames(name, [...known])
    return meant === undefined ? [] : [`${name} is no setting; did you mean ${meant}?`]
  })
  if (slips.length > 0) throw new ConfigError(slips.join('\n'))
  return unknown
}
