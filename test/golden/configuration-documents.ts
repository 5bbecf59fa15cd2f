import type { SettingOption } from '../../src/config/option.ts'
import { serveOptions } from '../../src/config/serve.ts'
import { tomlAssignment, tomlComment } from '../../src/config/toml-text.ts'

/** Documents that follow from the definitions of the options; `write-configuration.ts` writes them. */
export const configurationDocuments = {
  'docs/configuration-reference.md': referencePage(),
  'deploy/perpscope.example.toml': exampleFile(),
}

function referencePage(): string {
  const parts = sections().map(([title, options]) =>
    [
      `## ${title}`,
      '',
      '| key of the file, flag, variable | type | default | meaning |',
      '|---|---|---|---|',
      ...options.map(row),
      '',
    ].join('\n'),
  )
  return `# Configuration reference

Every option of \`perpscope serve\`, written from the definitions that the program reads. \`doctor\` and \`config\` have the
same options; other commands use those that concern them. \`docs/configuration.md\` states which source of a value
counts.

- The key in a configuration file is the flag without its dashes: \`--pay-to\` is \`pay-to = "0x…"\`. Keys are not grouped
  in tables. \`deploy/perpscope.example.toml\` has all of them.
- A value marked *secret* can be in a file of its own, one line: its variable with \`_FILE\`, or its key with \`-file\`, has
  the path.
- A list is one string or an array of strings; flag and variable separate its values by the stated character.

${parts.join('\n')}`
}

function row(option: SettingOption): string {
  const { envVar, description } = option
  const names = [option.name(), option.long, envVar].map((name) => `\`${name}\``).join(' ')
  const cells = [names, typeOf(option), code(option.defaultText), description]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function typeOf({ form, mask, argChoices, isRepeatable }: SettingOption): string {
  const choices = argChoices?.map((choice) => `\`${choice}\``).join(', ')
  const types = {
    string: choices ?? 'string',
    number: 'number',
    boolean: '`true`, `false`; as flag and variable `on`, `off`',
    list: isRepeatable ? 'list, `|`' : 'list, `,`',
    table: 'table of lists, `|`',
  }
  return mask === null ? types[form] : `${types[form]}; *secret*`
}

function exampleFile(): string {
  const parts = sections().map(([title, options]) =>
    [
      `# ---- ${title} ----`,
      ...options.filter((option) => option.name() !== 'config').map(example),
    ].join('\n\n'),
  )
  return `# Options of perpscope serve: perpscope serve --config perpscope.toml
# Every key is listed with its default, or with a sample in <> where it has none. Remove the # of those to set.
# docs/configuration-reference.md has the same as a page, and perpscope init writes a first file.

${parts.join('\n\n')}
`
}

function example(option: SettingOption): string {
  const lines = [tomlComment(option.description)]
  const file = `#${option.fileKey} = "<path>"`
  if (option.mask !== 'value') lines.push(`#${tomlAssignment(option, sampleOf(option))}`)
  if (option.fileKey !== null) lines.push(file)
  return lines.join('\n')
}

function sampleOf(option: SettingOption): string {
  if (option.form === 'table') return 'okx=wss://one.example|wss://two.example'
  const [, placeholder = ''] = /<(.+)>/.exec(option.flags) ?? []
  return option.defaultText ?? `<${placeholder.replace(/\|.*/, '')}>`
}

function code(text: string | null): string {
  return text === null ? '' : `\`${text}\``
}

/** Options of the file by concern, in the order of their definition. */
function sections(): readonly (readonly [title: string, options: readonly SettingOption[]])[] {
  return [
    ...Map.groupBy(serveOptions, ({ helpGroupHeading: title = '' }) => title.replace(/:$/, '')),
  ]
}
