import { readFileSync } from 'node:fs'
import type { TomlValue } from 'smol-toml'
import { parse, TomlError } from 'smol-toml'
import { reasonOf } from '../domain/errors.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { FileForm, SettingOption } from './option.ts'

/** A value of a configuration file, as the texts that the same flag would have, once or several times. */
type FileValue = {
  readonly texts: readonly string[]
  readonly line: number
  /** Of a table: one for each text. */
  readonly members: readonly { readonly name: string; readonly line: number }[]
}

type Table = Readonly<Record<string, TomlValue>>

/** A configuration file: keys are the names of the flags. */
export type ConfigFile = {
  readonly path: string
  /** By key, also keys of files with secrets. */
  readonly values: ReadonlyMap<string, FileValue>
  /** Each names file, line and key. */
  readonly problems: readonly string[]
}

/** The last name of a key in a line of its own. */
const KEY_OF_LINE = /^\s*\[*\s*(?:[\w-]+\s*\.\s*)*([\w-]+)\s*[=\]]/

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
  const forms = formsByKey(known)
  let table: Table
  try {
    table = parse(text)
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    // The lines that follow quote the document, which may contain a secret.
    const [reason] = cause.message.split('\n')
    const above = text.split('\n').slice(0, cause.line)
    const key = KEY_OF_LINE.exec(above.pop() ?? '')?.[1]
    const names = [...forms].flatMap(([name, { members }]) => [name, ...members])
    // Inside a text of several lines, a line with a key is part of that text.
    const isKey = key !== undefined && names.includes(key) && parsed(above.join('\n')) !== null
    const shown = isKey ? `${key}: ` : ''
    return { path, values, problems: [`${path}:${cause.line}: ${shown}${reason}`] }
  }
  const lines = keyLines(text)
  const problems: string[] = []
  for (const [key, value] of Object.entries(table)) {
    const line = lines.get(pathOf(key)) ?? 0
    const form = forms.get(key)
    const members: { readonly name: string; readonly line: number }[] = []
    const faults: string[] = []
    if (form?.form === 'table' && isTable(value))
      for (const [name, member] of Object.entries(value)) {
        const at = lines.get(pathOf(key, name)) ?? 0
        const fault = memberFault([key, name], member, form, [...forms.keys()])
        if (fault === null) members.push({ name, line: at })
        else faults.push(`${path}:${at}: ${fault}`)
      }
    problems.push(...faults)
    if (faults.length > 0) continue
    const texts = form && textsOf(form, value)
    if (texts) values.set(key, { texts, line, members })
    else
      problems.push(
        form
          ? `${path}:${line}: ${key} needs ${EXPECTED[form.form]}, not ${kindOf(value)}`
          : `${path}:${line}: ${unknownKey(key, value, [...forms.keys()])}`,
      )
  }
  return { path, values, problems }
}

type KeyForm = Pick<SettingOption, 'form' | 'isRepeatable' | 'members'>

function formsByKey(known: readonly SettingOption[]): ReadonlyMap<string, KeyForm> {
  const forms = new Map<string, KeyForm>()
  for (const option of known) {
    // A file that names another one would need an order of both.
    if (option.key === null || option.key === 'config') continue
    forms.set(option.key, option)
    if (option.fileKey !== null)
      forms.set(option.fileKey, { form: 'string', isRepeatable: false, members: [] })
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

/** What is wrong with a member of a table, to which every key after its header belongs; null for nothing. */
function memberFault(
  [key, name]: readonly [string, string],
  value: TomlValue,
  { members }: KeyForm,
  settings: readonly string[],
): string | null {
  if (settings.includes(name)) return `${name} is in the table [${key}]: move it above [${key}]`
  if (!members.includes(name)) {
    const meant = nearestKey(name, [...members, ...settings])
    const unknown = `${shownKey(name)} in [${key}] is unknown`
    if (meant === undefined) return `${unknown}; choose from ${members.join(', ')}`
    const place = settings.includes(meant) ? ` Move it above [${key}]` : ''
    return `${unknown}; did you mean ${meant}?${place}`
  }
  if (joined(value, true) !== null) return null
  return `${name} in [${key}] needs ${EXPECTED.list}, not ${kindOf(value)}`
}

function textsOfTable(table: Table): readonly string[] | null {
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
  if (Array.isArray(value)) return isTables(value) ? 'an array of tables' : 'an array'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object') return 'a table'
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`
}

function isTables(value: TomlValue): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isTable)
}

function unknownKey(key: string, value: TomlValue, known: readonly string[]): string {
  const unknown = `${shownKey(key)} is not a setting`
  const meant = nearestKey(key, known)
  if (meant !== undefined) return `${unknown}; did you mean ${meant}?`
  const isGroup = isTable(value) || isTables(value)
  return `${unknown}${isGroup ? '; settings are not grouped in tables' : ''}`
}

/** The known key that was meant: in the spelling of the variable or of the options in code, or with a typing error. */
function nearestKey(key: string, known: readonly string[]): string | undefined {
  const wanted = key
    .replace(/^PERPSCOPE_/, '')
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
  return known.includes(wanted) ? wanted : nearestNames(wanted, known)[0]
}

/** A bare key. A quoted one may contain a secret, such as a URL with a password. */
function shownKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : 'a quoted key'
}

/** A text, a comment, a bracket or the end of a line. */
const TOKEN =
  /"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"{3,5}|'''[^']*(?:'(?!'')[^']*)*'{3,5}|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*'|#[^\n]*|[[\]{}\n]/g

/** A statement of a valid document, or a part of it. */
type Part = { readonly line: number; readonly text: string }

/** `members`: of an inline table, from the lines below its first one. */
type Statement = Part & { readonly members: readonly Part[] }

/** Lines of all keys and members of tables. The parser reports none, so it parses each statement by itself, below its header. */
function keyLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  let header = ''
  for (const { line, text: statement, members } of statementsOf(text)) {
    const table = parse(header + statement)
    const paths = new Set(pathsIn(table).filter((path) => !lines.has(path)))
    const [key = ''] = Object.keys(table)
    for (const member of members)
      for (const name of Object.keys(parse(`table = {${member.text}`)['table'] ?? {})) {
        const path = pathOf(key, name)
        if (paths.delete(path)) lines.set(path, member.line)
      }
    for (const path of paths) lines.set(path, line)
    if (statement.trimStart().startsWith('[')) header = statement
  }
  return lines
}

/** A line that ends in no bracket ends a statement; one that ends in the braces of a table ends some of its members. */
function* statementsOf(text: string): Generator<Statement> {
  const open: string[] = []
  let [line, startLine, startAt, memberLine, memberAt] = [1, 1, 0, 1, 0]
  let members: Part[] = []
  const memberUntil = (end: number) => text.slice(memberAt, end).replace(/^\s*,/, '')
  for (const { 0: token, index } of `${text}\n`.matchAll(TOKEN)) {
    const end = index + token.length
    if (token === '[' || token === '{') open.push(token)
    else if (token === ']' || token === '}') open.pop()
    else if (token !== '\n') line += token.split('\n').length - 1
    else {
      line += 1
      if (open.length > 1 || open[0] === '[') continue
      if (memberAt > startAt) {
        const isLast = open.length === 0
        members.push({ line: memberLine, text: `${memberUntil(end)}${isLast ? '' : '}'}` })
      }
      if (open.length === 0) {
        yield { line: startLine, text: text.slice(startAt, end), members }
        members = []
        startLine = line
        startAt = end
      }
      memberLine = line
      memberAt = end
    }
  }
}

function parsed(text: string): Table | null {
  try {
    return parse(text)
  } catch {
    return null
  }
}

function pathsIn(table: Table): readonly string[] {
  return Object.entries(table).flatMap(([key, value]) => [
    pathOf(key),
    ...(isTable(value) ? Object.keys(value).map((name) => pathOf(key, name)) : []),
  ])
}

function pathOf(...names: readonly string[]): string {
  return JSON.stringify(names)
}
