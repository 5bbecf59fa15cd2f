import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configurationDocuments } from '../../test/golden/configuration-documents.ts'
import { parseConfigFile } from './config-file.ts'
import { serveOptions } from './serve.ts'

const ROOT = join(import.meta.dirname, '../..')
const example = configurationDocuments['deploy/perpscope.example.toml']

test.each(Object.entries(configurationDocuments))(
  '%s is current (otherwise: tsx test/golden/write-configuration.ts)',
  (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text)
  },
)

test('every line of the example is a key of the right type, and every key is in it', () => {
  const assignments = example.match(/(?<=^#)[a-z-]+ = .*$/gm)?.join('\n') ?? ''
  const { problems, values } = parseConfigFile(assignments, 'example', serveOptions)
  // Samples of numbers are no numbers.
  expect(problems).toEqual([])
  const keys = serveOptions
    .flatMap((option) => [option.mask === 'value' ? null : option.name(), option.fileKey])
    .filter((key) => key !== null && key !== 'config')
  expect([...values.keys()].toSorted()).toEqual(keys.toSorted())
})

test('the example sets nothing', () => {
  expect(parseConfigFile(example, 'example', serveOptions)).toMatchObject({
    problems: [],
    values: new Map(),
  })
})

test('flag, variable and key of an option are one name', () => {
  for (const option of serveOptions)
    expect(option.envVar).toBe(`PERPSCOPE_${option.name().toUpperCase().replaceAll('-', '_')}`)
})
