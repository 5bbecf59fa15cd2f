import type { Argument, ErrorOptions, Option } from 'commander'
import { Command, InvalidArgumentError } from 'commander'
import { ConfigError } from './config-error.ts'
import type { ConfigFile } from './config-file.ts'
import { readConfigFile } from './config-file.ts'
import { SettingOption } from './option.ts'
import { readSecret } from './secret-file.ts'
import type { Source, Variables } from './sources.ts'
import { sourcesOf } from './sources.ts'

/** A value that is not a default, as it was given. */
export type GivenValue = {
  readonly texts: readonly string[]
  readonly origin: 'flag' | 'variable' | 'file'
  /** Path and key of a file; null for other origins. */
  readonly place: string | null
}

/** A file that was read for the configuration. */
export type SettingFile = { readonly path: string; readonly hasSecret: boolean }

/** Sources of settings other than flags. */
export type SettingContext = {
  readonly variables: Variables
  /** Options that a configuration file may contain, whichever command reads it. */
  readonly fileOptions: readonly SettingOption[]
}

/** A command that takes options from flags, variables, secret files and a configuration file; the first wins. */
export class SettingsCommand extends Command {
  readonly given = new Map<string, GivenValue>()
  readonly files: SettingFile[] = []
  /** Everything that is wrong outside the flags, with its place. */
  readonly problems: string[] = []
  /** Flags of options whose value could not be read. */
  readonly unread = new Set<string>()
  readonly #context: SettingContext

  constructor(name: string, context: SettingContext) {
    super(name)
    this.#context = context
  }

  override createCommand(name: string): SettingsCommand {
    return new SettingsCommand(name, this.#context)
  }

  override addOption(option: Option): this {
    super.addOption(option)
    const name = option.attributeName()
    // The event carries the text; the parsed value of a price or a list does not show it.
    this.on(`option:${option.name()}`, (text: string | null) => {
      const isAdded = option instanceof SettingOption && option.isRepeatable
      const before = isAdded ? (this.given.get(name)?.texts ?? []) : []
      this.given.set(name, { texts: [...before, text ?? 'on'], origin: 'flag', place: null })
    })
    return this
  }

  /**
   * Overrides how commander reads variables: after the flags, and before its checks for missing and conflicting options.
   * Collects problems, so that all of them are reported at once, and none when help is requested.
   */
  _parseOptionsEnv(): void {
    const options = this.options.filter((option) => option instanceof SettingOption)
    const config = options.find((option) => option.name() === 'config')
    if (config) this.#apply(config, null)
    const path: unknown = config && this.getOptionValue('config')
    const file = typeof path === 'string' ? readConfigFile(path, this.#context.fileOptions) : null
    this.problems.push(...(file?.problems ?? []))
    for (const option of options) if (option !== config) this.#apply(option, file)
    if (file) this.files.push({ path: file.path, hasSecret: this.#hasSecret(file) })
  }

  /** Overrides how commander reports an invalid value, which may be a secret. */
  _callParseArg(
    target: Option | Argument,
    value: string,
    previous: unknown,
    invalidArgumentMessage: string,
  ): unknown {
    try {
      return target.parseArg?.(value, previous)
    } catch (cause) {
      if (!(cause instanceof InvalidArgumentError)) throw cause
      const isSecret = target instanceof SettingOption && target.mask !== null
      let fault = `${invalidArgumentMessage} ${cause.message}`
      if (isSecret)
        fault = `error: the value of option '${target.flags}' is invalid. ${cause.message}`
      else if (resemblesKey(value))
        fault = `error: the value of ${target.name()} ${KEY_IN_WRONG_PLACE}`
      this.error(fault, { exitCode: cause.exitCode, code: cause.code })
    }
  }

  /** Overrides how commander reports wrong usage: it repeats unknown words, and a key may be one of them. */
  override error(message: string, options?: ErrorOptions): never {
    return super.error(message.replace(KEY, 'a private key that is not shown'), options)
  }

  #apply(option: SettingOption, file: ConfigFile | null): void {
    const name = option.attributeName()
    const { found, problems } = sourcesOf(option, this.#context.variables, file)
    this.problems.push(...problems)
    const [source] = found
    if (source === undefined || this.getOptionValueSource(name) === 'cli') return
    try {
      const texts = this.#textsOf(source)
      if (option.isBoolean() && !isOn(texts.at(-1) ?? '', source)) return
      const value = option.isBoolean() ? true : parsedValue(option, texts, source)
      this.setOptionValueWithSource(name, value, source.origin === 'variable' ? 'env' : 'config')
      this.given.set(name, { texts, origin: source.origin, place: placeOf(source) })
    } catch (cause) {
      if (!(cause instanceof ConfigError)) throw cause
      this.problems.push(cause.message)
      if (option.long) this.unread.add(option.long)
    }
  }

  #textsOf({ content, place }: Source): readonly string[] {
    if ('texts' in content) return content.texts
    try {
      const texts = [readSecret(content.secretPath)]
      this.files.push({ path: content.secretPath, hasSecret: true })
      return texts
    } catch (cause) {
      if (!(cause instanceof ConfigError)) throw cause
      throw new ConfigError(`${place}: ${cause.message}`)
    }
  }

  #hasSecret(file: ConfigFile): boolean {
    return this.#context.fileOptions.some(
      (option) => option.mask !== null && option.key !== null && file.values.has(option.key),
    )
  }
}

/** Texts given by flags and variables, by option; none from files. */
export function givenTexts(command: SettingsCommand): ReadonlyMap<string, string> {
  const texts = command.options.flatMap((option): [string, string][] => {
    const value = command.given.get(option.attributeName())
    return value === undefined || value.origin === 'file'
      ? []
      : [[option.name(), value.texts.join('|')]]
  })
  return new Map(texts)
}

/** Whether a flag that has a variable is on. @throws ConfigError for another word */
function isOn(text: string, { place }: Source): boolean {
  if (/^(|0|false|off|no)$/i.test(text)) return false
  if (/^(1|true|on|yes)$/i.test(text)) return true
  throw invalidValue(place, text, 'not on or off')
}

/** @throws ConfigError, which shows the value only if it is no secret */
function parsedValue(
  option: SettingOption,
  texts: readonly string[],
  { place, content }: Source,
): unknown {
  const { parseArg, mask } = option
  if (parseArg === undefined) return texts.at(-1)
  const places = 'places' in content ? content.places : []
  let value: unknown = option.defaultValue
  for (const [at, text] of texts.entries())
    try {
      value = parseArg(text, value)
    } catch (cause) {
      if (!(cause instanceof InvalidArgumentError)) throw cause
      const from = places[at] ?? place
      throw mask === null
        ? invalidValue(from, texts.join(' '), cause.message)
        : new ConfigError(`${from}: ${cause.message}`)
    }
  return value
}

const KEY_IN_WRONG_PLACE = 'looks like a private key, which is not wanted here; it is not shown'
/** 32 bytes in hexadecimal digits; 64 bytes in base58, or as the list of numbers in a file of a Solana wallet. */
const KEY =
  /(?<![\da-f])(?:0x)?[\da-f]{64}(?![\da-f])|(?<![\da-z])[1-9a-z]{86,88}(?![\da-z])|\[(\s*\d{1,3}\s*,){63}/gi

/** Shows the value, unless it may be a key. */
function invalidValue(place: string, text: string, why: string): ConfigError {
  return resemblesKey(text)
    ? new ConfigError(`${place}: the value ${KEY_IN_WRONG_PLACE}`)
    : new ConfigError(`${place} = ${shownText(text)}: ${why}`)
}

/** Whether a value may be a key that was pasted into an option without secrets. */
function resemblesKey(text: string): boolean {
  return text.search(KEY) >= 0
}

/** Control characters would be invisible, or would move the cursor. */
function shownText(text: string): string {
  return /\p{Cc}/u.test(text) ? JSON.stringify(text) : text
}

function placeOf({ origin, place, content }: Source): string | null {
  if ('secretPath' in content) return `${content.secretPath} (${place})`
  return origin === 'file' ? place : null
}
