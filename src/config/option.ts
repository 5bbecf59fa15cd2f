import { Option } from 'commander'
import { historyDays, host, path, port } from './values.ts'

/** How a value is written in a configuration file; a list also as one string or number. */
export type FileForm = 'string' | 'number' | 'boolean' | 'list' | 'table'

/** What of a value is not shown: all of it, or everything of a URL but protocol and host. */
export type Mask = 'value' | 'url'

/** The one definition of an option: its flag, variable, key in a configuration file, help, type and check. */
export class SettingOption extends Option {
  form: FileForm = 'string'
  mask: Mask | null = null
  /** Several values are separated by | and the flag may be repeated; other lists are separated by commas. */
  isRepeatable = false
  /** Of a table. */
  members: readonly string[] = []

  number<Parsed>(parse: (text: string) => Parsed): this {
    this.form = 'number'
    return this.argParser(parse)
  }

  onOff(): this {
    this.form = 'boolean'
    return this.choices(['on', 'off'])
  }

  list<Parsed>(parse: (text: string) => Parsed): this {
    this.form = 'list'
    return this.argParser(parse)
  }

  repeatable<Parsed>(parse: (text: string, before: Parsed) => Parsed): this {
    this.form = 'list'
    this.isRepeatable = true
    return this.argParser(parse)
  }

  table<Parsed>(members: readonly string[], parse: (text: string, before: Parsed) => Parsed): this {
    this.form = 'table'
    this.isRepeatable = true
    this.members = members
    return this.argParser(parse)
  }

  masked(mask: Mask): this {
    this.mask = mask
    return this
  }

  /** As in the help; null without a default. */
  get defaultText(): string | null {
    if (this.defaultValueDescription !== undefined) return this.defaultValueDescription
    return this.defaultValue === undefined ? null : String(this.defaultValue)
  }

  /** Key of the configuration file; options of several commands with one variable share it. */
  get key(): string | null {
    if (this.envVar === undefined) return null
    return this.envVar
      .replace(/^PERPSCOPE_/, '')
      .toLowerCase()
      .replaceAll('_', '-')
  }

  /** Variable with the path of a file that holds the value; null if the value is no secret. */
  get fileVariable(): string | null {
    return this.mask === null || this.envVar === undefined ? null : `${this.envVar}_FILE`
  }

  /** The same as a key of the configuration file. */
  get fileKey(): string | null {
    return this.mask === null ? null : `${this.name()}-file`
  }
}

declare const valueType: unique symbol

/** A definition that carries the type of its value; undefined is part of it unless there is a default. */
export type Setting<Value> = {
  readonly [valueType]: Value
  argParser<Parsed>(parse: (text: string, previous: Parsed) => Parsed): Setting<Parsed | undefined>
  choices<const Choice extends string>(values: readonly Choice[]): Setting<Choice | undefined>
  onOff(): Setting<'on' | 'off' | undefined>
  number<Parsed>(parse: (text: string) => Parsed): Setting<Parsed | undefined>
  list<Parsed>(parse: (text: string) => Parsed): Setting<Parsed | undefined>
  repeatable<Parsed>(parse: (text: string, before: Parsed) => Parsed): Setting<Parsed | undefined>
  table<Parsed>(
    members: readonly string[],
    parse: (text: string, before: Parsed) => Parsed,
  ): Setting<Parsed | undefined>
  masked(mask: Mask): Setting<Value>
  default(value: NonNullable<Value>, description?: string): Setting<NonNullable<Value>>
  makeOptionMandatory(): Setting<NonNullable<Value>>
  conflicts(names: string | readonly string[]): Setting<Value>
}

type Settings = Readonly<Record<string, Setting<unknown>>>

type ValueOf<One> = One extends { readonly [valueType]: infer Value } ? Value : never

type OptionalIn<All extends Settings> = {
  [Name in keyof All]: undefined extends ValueOf<All[Name]> ? Name : never
}[keyof All]

/** The values of settings after parsing. */
export type ValuesOf<All extends Settings> = {
  readonly [Name in Exclude<keyof All, OptionalIn<All>>]: ValueOf<All[Name]>
} & {
  readonly [Name in OptionalIn<All>]?: NonNullable<ValueOf<All[Name]>>
}

/** A setting with a value. Settings of several commands share a variable only if they mean the same. null: flag only. */
export function setting(
  flags: string,
  variable: string | null,
  description: string,
): Setting<string | undefined> {
  const option = new SettingOption(flags, description)
  return (variable === null ? option : option.env(variable)) as unknown as Setting<
    string | undefined
  >
}

/** A setting that is given or not. */
export function flag(
  flags: string,
  variable: string | null,
  description: string,
): Setting<true | undefined> {
  return setting(flags, variable, description) as unknown as Setting<true | undefined>
}

/** Groups settings by concern, in the help and in the reference of the configuration. */
export function section<All extends Settings>(title: string, settings: All): All {
  for (const option of optionsOf(settings)) option.helpGroup(`${title}:`)
  return settings
}

/** The options of a command. A setting has the name of its long flag in camel case. */
export function optionsOf(settings: Settings): readonly SettingOption[] {
  return Object.entries(settings).map(([name, one]) => {
    const option = one as unknown as SettingOption
    if (option.attributeName() !== name) throw new Error(`${option.long} is not called ${name}`)
    return option
  })
}

const DEFAULT_ADMIN_PORT = 9402
const DATA_DIR = './data'

/** Size of a file at which recording stops. */
export const RECORDING_BYTES_MAX = 1024 ** 3

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogOptions = ValuesOf<ReturnType<typeof logSettings>>

/** @param level the default */
export function logSettings(level: (typeof logLevels)[number]) {
  return section('Log', {
    logLevel: setting('--log-level <level>', 'PERPSCOPE_LOG_LEVEL', 'lowest level that is logged')
      .choices(logLevels)
      .default(level),
    logFormat: setting(
      '--log-format <format>',
      'PERPSCOPE_LOG_FORMAT',
      'auto: readable lines on a terminal, JSON otherwise; logs go to standard error',
    )
      .choices(['auto', 'pretty', 'json'])
      .default('auto'),
  })
}

/** Settings with the same meaning in several commands. */
export const shared = section('Files', {
  config: setting(
    '--config <file>',
    'PERPSCOPE_CONFIG',
    'TOML file with options of serve, such as the one that perpscope init writes; a variable replaces its values, a flag both',
  ).argParser(path),
  dataDir: setting('--data-dir <dir>', 'PERPSCOPE_DATA_DIR', 'directory of the databases')
    .argParser(path)
    .default(DATA_DIR),
})

export const historySettings = section('History', {
  historyDays: setting(
    '--history-days <days>',
    'PERPSCOPE_HISTORY_DAYS',
    'days of bars, funding, open interest and measures in history.db, 40 to 366; 0 keeps the 30 to 40 that analyses read',
  )
    .number(historyDays)
    .default(0),
})

export const adminSettings = section('Admin port', {
  adminHost: setting(
    '--admin-host <host>',
    'PERPSCOPE_ADMIN_HOST',
    'address of the admin port; any other than loopback needs --admin-token-file',
  )
    .argParser(host)
    .default('127.0.0.1'),
  adminPort: setting('--admin-port <port>', 'PERPSCOPE_ADMIN_PORT', 'admin port')
    .number(port)
    .default(DEFAULT_ADMIN_PORT),
  adminTokenFile: setting(
    '--admin-token-file <file>',
    'PERPSCOPE_ADMIN_TOKEN_FILE',
    'file with the token that clients of the admin port present as Authorization: Bearer (default: none, loopback only)',
  ).argParser(path),
})

export type AdminOptions = ValuesOf<typeof adminSettings>
