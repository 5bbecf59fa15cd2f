import type { SettingOption } from './option.ts'

const COMMENT_COLUMNS = 100

/** Comment lines of at most 100 columns. */
export function tomlComment(text: string): string {
  const lines = ['#']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line.length + 1 + word.length > COMMENT_COLUMNS) lines.push(`# ${word}`)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}

/** @param text the value as a flag would have it */
export function tomlAssignment(option: SettingOption, text: string): string {
  return `${option.key ?? option.name()} = ${tomlValue(option, text)}`
}

function tomlValue({ form, isRepeatable }: SettingOption, text: string): string {
  switch (form) {
    case 'string':
      return tomlString(text)
    case 'number':
      // A flag may have leading zeros. Samples are no numbers.
      return Number.isNaN(Number(text)) ? text : String(Number(text))
    case 'boolean':
      return String(text === 'on')
    case 'list': {
      const items = text.split(isRepeatable ? '|' : ',').map((item) => tomlString(item.trim()))
      return items.length === 1 ? items.join('') : `[${items.join(', ')}]`
    }
    case 'table': {
      const [name, urls = ''] = text.split('=')
      return `{ ${name} = [${urls.split('|').map(tomlString).join(', ')}] }`
    }
    default:
      return form satisfies never
  }
}

/** The escapes of JSON are escapes of TOML. */
function tomlString(text: string): string {
  return JSON.stringify(text)
}
