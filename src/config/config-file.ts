import { readFileSync } from 'node:fs'
import type { TomlValue } from 'smol-toml'
import { parse, TomlError } from 'smol-toml'
import { reasonOf } from '../domain/errors.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { FileForm, SettingOption } from './option.ts'

/** A value of a configuration file, as the texts that the same flag would have, once or several times. */
type FileValue = { readonly texts: readonly string[]; readonly line: number }

/** A configuration file: keys are the names of the flags. */
export type ConfigFile = {
  readonly path: string
  /** By key, also keys of files with secrets. */
  readonly values: ReadonlyMap<string, FileValue>
  /** Each names file, line and key. */
  readonly problems: readonly string[]
}

const KEY_OF_LINE = /^\s*\[?\s*["']?([^"'\]=.]*?)["']?\s*[=.\]]/

const EXPECTED: Readonly<Record<FileForm, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  list: 'a string or an array of strings',
  table: 'a table of strings or arrays of strings',
}

/** @param known options that the file may have */
export function readConfigFile(path: string, known: readonly SettingOption[]): ConfigFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    const problem = `--config ${path} cannot be read: ${reasonOf(cause)}`
    return { path, values: new Map(), problems: [problem] }
  }
  return parseConfigFile(text, path, known)
}

export function parseConfigFile(
  text: string,
  path: string,
  known: readonly SettingOption[],
): ConfigFile {
  const values = new Map<string, FileValue>()
  let table: Readonly<Record<string, TomlValue>>
  try {
    table = parse(text)
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    // The lines that follow quote the document, which may contain a secret.
    const [reason] = cause.message.split('\n')
    return { path, values, problems: [`${path}:${cause.line}: ${reason}`] }
  }
  const forms = formsByKey(known)
  const problems: string[] = []
  for (const [key, value] of Object.entries(table)) {
    const line = lineOf(key, text)
    const form = forms.get(key)
    if (form?.form === 'table' && isTable(value)) {
      const faults = tableFaults(key, value, forms)
      for (const [name, fault] of faults)
        problems.push(`${path}:${lineInTable(name, text, line)}: ${fault}`)
      if (faults.size > 0) continue
    }
    const texts = form && textsOf(form, value)
    if (texts) values.set(key, { texts, line })
    else
      problems.push(
        form
          ? `${path}:${line}: ${key} needs ${EXPECTED[form.form]}, not ${kindOf(value)}`
          : `${path}:${line}: ${unknownKey(key, value, [...forms.keys()])}`,
      )
  }
  return { path, values, problems }
}

type KeyForm = Pick<SettingOption, 'form' | 'isRepeatable'>

function formsByKey(known: readonly SettingOption[]): ReadonlyMap<string, KeyForm> {
  const forms = new Map<string, KeyForm>()
  for (const option of known) {
    // A file that names another one would need an order of both.
    if (option.key === null || option.key === 'config') continue
    forms.set(option.key, option)
    if (option.fileKey !== null) forms.set(option.fileKey, { form: 'string', isRepeatable: false })
  }
  return forms
}

/** null if the value has another form. */
function textsOf({ form, isRepeatable }: KeyForm, value: TomlValue): readonly string[] | null {
  switch (form) {
    case 'string':
      return typeof value === 'string' ? [value] : null
    case 'number':
      return typeof value === 'number' ? [String(value)] : null
    case 'boolean':
      return typeof value === 'boolean' ? [value ? 'on' : 'off'] : null
    case 'list': {
      const text = typeof value === 'number' ? String(value) : joined(value, isRepeatable)
      return text === null ? null : [text]
    }
    case 'table':
      return isTable(value) ? textsOfTable(value) : null
    default:
      return form satisfies never
  }
}

/** What is wrong by name. A key after the table belongs to it. */
function tableFaults(
  key: string,
  table: Readonly<Record<string, TomlValue>>,
  forms: ReadonlyMap<string, KeyForm>,
): ReadonlyMap<string, string> {
  const faults = new Map<string, string>()
  for (const [name, value] of Object.entries(table))
    if (forms.has(name))
      faults.set(name, `${name} is in the table [${key}]: move it above [${key}]`)
    else if (joined(value, true) === null)
      faults.set(name, `${name} in [${key}] needs ${EXPECTED.list}, not ${kindOf(value)}`)
  return faults
}

function textsOfTable(table: Readonly<Record<string, TomlValue>>): readonly string[] | null {
  const texts = Object.entries(table).map(([name, value]) => {
    const text = joined(value, true)
    return text === null ? null : `${name}=${text}`
  })
  return texts.every((text) => text !== null) ? texts : null
}

/** null for what is neither a string nor an array of strings. */
function joined(value: TomlValue, isRepeatable: boolean): string | null {
  if (typeof value === 'string') return value
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return null
  return value.join(isRepeatable ? '|' : ',')
}

function isTable(value: TomlValue): value is Record<string, TomlValue> {
  return kindOf(value) === 'a table'
}

function kindOf(value: TomlValue): string {
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object') return 'a table'
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`
}

function unknownKey(key: string, value: TomlValue, known: readonly string[]): string {
  // The spelling of the variable, and of the options in code.
  const wanted = key
    .replace(/^PERPSCOPE_/, '')
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
  const meant = known.includes(wanted) ? wanted : nearestNames(wanted, known)[0]
  if (meant !== undefined) return `${key} is not a setting; did you mean ${meant}?`
  return `${key} is not a setting${isTable(value) ? '; settings are not grouped in tables' : ''}`
}

/** Members of `key = { … }` are in its own line. */
function lineInTable(name: string, text: string, line: number): number {
  const isHeader = text.split('\n')[line - 1]?.trimStart().startsWith('[')
  return isHeader ? lineOf(name, text, line) : line
}

/** The parser reports lines of syntax errors only. @param from line of the table that has the key */
function lineOf(key: string, text: string, from = 0): number {
  const names = text.split('\n').map((line) => KEY_OF_LINE.exec(line)?.[1])
  return 1 + names.indexOf(key, from) || from
}
