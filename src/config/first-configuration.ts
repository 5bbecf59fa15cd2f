import { serveProblems } from './check-serve.ts'
import { ConfigError } from './config-error.ts'
import { initOptions } from './init.ts'
import type { SettingOption } from './option.ts'
import type { ServeOptions } from './serve.ts'
import { serveOptions } from './serve.ts'
import { tomlAssignment, tomlComment } from './toml-text.ts'

/** Values of a configuration as texts, by key. */
export type SettingTexts = ReadonlyMap<string, string>

/** Settling with a node needs a key, which `doctor` checks and no file of ours contains. */
const keys = [
  { of: 'rpc-url', key: 'facilitator-key', variable: 'PERPSCOPE_FACILITATOR_KEY' },
  {
    of: 'solana-rpc-url',
    key: 'solana-facilitator-key',
    variable: 'PERPSCOPE_SOLANA_FACILITATOR_KEY',
  },
] as const

/** The proxy runs on the same machine. */
export const PROXY_BY_DEFAULT = 'loopback'

/**
 * The text of a first configuration file.
 * @throws ConfigError naming everything that is missing or does not fit together
 */
export function firstConfiguration(given: SettingTexts): string {
  // Buyers reach another URL by a proxy, and without the option all of them would have one address.
  const answers: SettingTexts = given.has('public-url')
    ? new Map([['trust-proxy', PROXY_BY_DEFAULT], ...given])
    : given
  const problems = serveProblems(optionsWith(answers))
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  const assignments = initOptions
    .filter((option) => !option.isBoolean() && answers.has(option.name()))
    .map((option) => assignment(option, answers.get(option.name()) ?? ''))
  const keyNotes = keys
    .filter(({ of, key }) => isSettling(answers, of) && !answers.has(`${key}-file`))
    .map(({ key, variable }) =>
      [
        tomlComment(`The key is in the variable ${variable}, or in a file that this line names:`),
        `#${key}-file = "<path>"`,
      ].join('\n'),
    )
  const head = tomlComment(
    'Options of perpscope serve; perpscope serve --help and docs/configuration-reference.md have all of them.',
  )
  return `${[head, ...assignments, ...keyNotes].join('\n\n')}\n`
}

function assignment(option: SettingOption, text: string): string {
  return `${tomlComment(option.description)}\n${tomlAssignment(option, text)}`
}

function isSettling(answers: SettingTexts, node: string): boolean {
  return answers.has(node) && !answers.has('facilitator-url')
}

function optionsWith(answers: SettingTexts): ServeOptions {
  const entries = serveOptions.map((option) => {
    const text = answers.get(option.name())
    const value =
      text === undefined || option.parseArg === undefined
        ? (text ?? option.defaultValue)
        : option.parseArg(text, option.defaultValue)
    return [option.attributeName(), value]
  })
  const assumed = {
    ...(isSettling(answers, 'rpc-url') ? { facilitatorKey: `0x${'1'.repeat(64)}` } : {}),
    ...(isSettling(answers, 'solana-rpc-url') ? { solanaFacilitatorKey: 'not read here' } : {}),
  }
  return { ...Object.fromEntries(entries), ...assumed } as ServeOptions
}
