import type { ConfigurationEntry } from '../domain/desk-reports.ts'
import { percentDecoded } from '../domain/percent-decoded.ts'
import { SettingOption } from './option.ts'
import type { SettingsCommand } from './settings-command.ts'

const URL_TEXT = /[a-z][a-z0-9+.-]*:\/\/[^\s|]+/gi
const WEB_PROTOCOL = /^(?:https?|wss?):$/
/** Shorter secrets are not redacted: they would match unrelated text. */
const SECRET_CHARS_MIN = 8

export type EffectiveConfiguration = {
  readonly entries: readonly ConfigurationEntry[]
  /** Secrets to redact from log entries that are shown. */
  readonly secrets: readonly string[]
}

/** The values of a command after it was parsed. */
export function effectiveConfiguration(command: SettingsCommand): EffectiveConfiguration {
  const settings = command.options
    .filter((option) => option instanceof SettingOption)
    .filter(({ envVar }) => envVar !== undefined)
  return {
    entries: settings.map((option) => entryOf(command, option)),
    secrets: settings.flatMap((option) => secretsIn(command, option)),
  }
}

function entryOf({ given }: SettingsCommand, option: SettingOption): ConfigurationEntry {
  const value = given.get(option.attributeName())
  return {
    option: option.long ?? option.flags,
    variable: option.envVar ?? null,
    value: value === undefined ? option.defaultText : maskedText(option, value.texts.join(' ')),
    origin: value?.origin ?? 'default',
    place: value?.place ?? null,
  }
}

function maskedText({ mask, isRepeatable }: SettingOption, text: string): string {
  if (mask === null) return text
  if (mask === 'value') return 'set'
  // A password of a single URL may contain what separates several.
  return isRepeatable ? text.replaceAll(URL_TEXT, protocolAndHost) : protocolAndHost(text)
}

function protocolAndHost(text: string): string {
  if (!URL.canParse(text)) return 'set'
  const { protocol, host } = new URL(text)
  return `${protocol}//${host}`
}

function secretsIn({ given }: SettingsCommand, option: SettingOption): readonly string[] {
  const texts = given.get(option.attributeName())?.texts ?? []
  if (option.mask === null) return []
  const found =
    option.mask === 'value'
      ? texts.flatMap((text) => text.split('|'))
      : texts
          .flatMap((text) => (option.isRepeatable ? (text.match(URL_TEXT) ?? []) : [text]))
          .filter((url) => URL.canParse(url))
          .flatMap(secretsOfUrl)
  return [...new Set(found)].filter((secret) => secret.length >= SECRET_CHARS_MIN)
}

/** Providers put keys into the path, the query or the user; the path of a database is its name, and its user a role. */
function secretsOfUrl(url: string): readonly string[] {
  const { protocol, pathname, search, username, password } = new URL(url)
  const parts = WEB_PROTOCOL.test(protocol)
    ? [`${pathname}${search}`, username, password]
    : [search, password]
  return parts.flatMap((part) => [part, percentDecoded(part)])
}
