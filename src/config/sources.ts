import type { ConfigFile } from './config-file.ts'
import type { SettingOption } from './option.ts'

/** Where a value comes from that has no flag. */
export type Source = {
  readonly origin: 'variable' | 'file'
  /** Variable, or path, line and key. */
  readonly place: string
  /** The value, once or several times, or the path of the file that holds it. */
  readonly content:
    | {
        readonly texts: readonly string[]
        /** Of each text of a table; otherwise empty. */
        readonly places: readonly string[]
      }
    | { readonly secretPath: string }
}

/** Variables of the environment by name. */
export type Variables = Readonly<Record<string, string>>

type Sources = {
  /** In the order of precedence: variable, variable file, configuration file. */
  readonly found: readonly Source[]
  /** A value and the path of its file in one place contradict each other. */
  readonly problems: readonly string[]
}

export function sourcesOf(
  option: SettingOption,
  variables: Variables,
  file: ConfigFile | null,
): Sources {
  const places = [inVariables(option, variables), inFile(option, file)]
  return {
    found: places.flat(),
    problems: places
      .filter(({ length }) => length > 1)
      .map((both) => `${both.map(({ place }) => place).join(' and ')} are both set: remove one`),
  }
}

function inVariables({ envVar, fileVariable }: SettingOption, variables: Variables): Source[] {
  const found: Source[] = []
  // Files of variables may have Windows line ends.
  const text = envVar === undefined ? undefined : variables[envVar]?.trim()
  if (envVar !== undefined && text !== undefined)
    found.push({ origin: 'variable', place: envVar, content: { texts: [text], places: [] } })
  const secretPath = fileVariable === null ? undefined : variables[fileVariable]?.trim()
  if (fileVariable !== null && secretPath !== undefined)
    found.push({ origin: 'file', place: fileVariable, content: { secretPath } })
  return found
}

function inFile(option: SettingOption, file: ConfigFile | null): Source[] {
  const found: Source[] = []
  const value = option.key === null ? undefined : file?.values.get(option.key)
  if (file && value)
    found.push({
      origin: 'file',
      place: `${file.path}:${value.line}: ${option.key}`,
      content: {
        texts: value.texts,
        places: value.members.map(
          ({ name, line }) => `${file.path}:${line}: ${name} in [${option.key}]`,
        ),
      },
    })
  const path = option.fileKey === null ? undefined : file?.values.get(option.fileKey)
  if (file && path)
    found.push({
      origin: 'file',
      place: `${file.path}:${path.line}: ${option.fileKey}`,
      content: { secretPath: path.texts.join('') },
    })
  return found
}
