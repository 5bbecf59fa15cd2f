import type { Command, Option } from 'commander'
import type { ConfigurationEntry } from '../domain/desk-reports.ts'
import type { ServeOptions } from './serve.ts'

/** How a value is shown that holds a secret, or a URL whose path or user may be one. Other values are shown as given. */
const masks: Readonly<Partial<Record<keyof ServeOptions, 'secret' | 'urls'>>> = {
  ledger: 'urls',
  broker: 'urls',
  rpcUrl: 'urls',
  solanaRpcUrl: 'urls',
  facilitatorUrl: 'urls',
  sourceUrl: 'urls',
  facilitatorAuth: 'secret',
  facilitatorKey: 'secret',
  solanaFacilitatorKey: 'secret',
  receiptKey: 'secret',
  pythKey: 'secret',
}

const URL_TEXT = /[a-z][a-z0-9+.-]*:\/\/[^\s|]+/gi
/** Options that may be given several times; of any other the last one counts. */
const REPEATABLE: ReadonlySet<string> = new Set<keyof ServeOptions>([
  ...(['facilitatorUrl', 'facilitatorAuth', 'sourceUrl'] as const),
])
/** A shorter text would be found in unrelated words. */
const SECRET_CHARS_MIN = 8

export type EffectiveConfiguration = {
  readonly entries: readonly ConfigurationEntry[]
  /** Texts that must not appear in what is shown. */
  readonly secrets: readonly string[]
}

/**
 * Notes the values of a command as they are given, before it is parsed.
 * @returns reads the effective configuration once it is parsed
 */
export function noteConfiguration(command: Command): () => EffectiveConfiguration {
  const given = new Map<string, readonly string[]>()
  for (const option of command.options) {
    const name = option.attributeName()
    // These events of commander carry the text; the parsed value of a price or a list does not show it.
    command.on(`option:${option.name()}`, (text: string | null) => {
      const before = REPEATABLE.has(name) ? (given.get(name) ?? []) : []
      given.set(name, [...before, text ?? 'on'])
    })
    command.on(`optionEnv:${option.name()}`, (text: string) => given.set(name, [text]))
  }
  return () => ({
    entries: command.options.map((option) => entryOf(command, option, given)),
    secrets: command.options.flatMap((option) => secretsIn(option, given)),
  })
}

function entryOf(
  command: Command,
  option: Option,
  given: ReadonlyMap<string, readonly string[]>,
): ConfigurationEntry {
  const name = option.attributeName()
  const source = command.getOptionValueSource(name)
  const texts = given.get(name)
  return {
    option: option.long ?? option.flags,
    variable: option.envVar ?? null,
    value: texts === undefined ? defaultOf(option) : shown(name, texts.join(' ')),
    origin: source === 'cli' ? 'flag' : source === 'env' ? 'variable' : 'default',
  }
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string | null {
  if (defaultValueDescription !== undefined) return defaultValueDescription
  return defaultValue === undefined ? null : String(defaultValue)
}

function shown(name: string, text: string): string {
  const mask = masks[name as keyof ServeOptions]
  if (mask === undefined) return text
  return mask === 'secret' ? 'set' : text.replaceAll(URL_TEXT, withoutPath)
}

function withoutPath(text: string): string {
  if (!URL.canParse(text)) return 'set'
  const { protocol, host } = new URL(text)
  return `${protocol}//${host}`
}

function secretsIn(
  option: Option,
  given: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const name = option.attributeName()
  const texts = given.get(name) ?? []
  const mask = masks[name as keyof ServeOptions]
  if (mask === undefined) return []
  const found =
    mask === 'secret'
      ? texts.flatMap((text) => text.split('|'))
      : texts
          .flatMap((text) => text.match(URL_TEXT) ?? [])
          .filter((url) => URL.canParse(url))
          .flatMap((url) => {
            const { pathname, search, password } = new URL(url)
            return [`${pathname}${search}`, decodeURIComponent(password)]
          })
  return found.filter((secret) => secret.length >= SECRET_CHARS_MIN)
}
