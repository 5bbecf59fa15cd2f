import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chartContracts, contracts } from '../../compute/analyses/registry.ts'
import { definitions } from './definitions.ts'

const CONSOLE = join(import.meta.dirname, '../../console')
/** `analysis="oi" path="oi.current"`, and the same as members of an object. */
const TERM = /\banalysis(?:=|: )["']([\w-]+)["'],?\s+path(?:=|: )["']([^"']+)["']/g
/** A label that has a definition, however it names it. */
const USE = /<(?:Term|Figure)\b(?!Props)/g

const sources = globSync('**/*.{ts,tsx}', { cwd: CONSOLE })
  .filter((file) => !file.includes('.test.'))
  .map((file) => [file, readFileSync(join(CONSOLE, file), 'utf8')] as const)

test('every term of the console has a definition in the schema of its analysis', () => {
  const known = definitions([...contracts, ...chartContracts])
  const named = sources.flatMap(([file, text]) =>
    Array.from(text.matchAll(TERM), ([, analysis = '', path = '']) => ({ file, analysis, path })),
  )
  expect(named.length, 'terms were read').toBeGreaterThan(50)
  expect(named.filter(({ analysis, path }) => known[analysis]?.[path] === undefined)).toEqual([])
})

test('every column of a table has a definition in the schema of its analysis', () => {
  const known = definitions([...contracts, ...chartContracts])
  const columns = sources.flatMap(([file, text]) => {
    // A file with columns is about one answer, unless a column names another one.
    const [, first, second] = /AnswerOf<'([^']+)'>|Answers\['([^']+)'\]/.exec(text) ?? []
    const named = text.matchAll(/(?:analysis: '([^']+)',\s+)?\bpath: '([^'/]+)'/g)
    return Array.from(named, ([, analysis = first ?? second ?? 'screener', path = '']) => ({
      ...{ file, analysis, path },
    }))
  })
  expect(columns.length, 'columns were read').toBeGreaterThan(50)
  expect(columns.filter(({ analysis, path }) => known[analysis]?.[path] === undefined)).toEqual([])
})

test('terms are written so that the test above reads them', () => {
  const unread = sources.filter(
    ([, text]) =>
      countOf(text, USE) >
      countOf(text, TERM) + countOf(text, /\{ ?analysis,? path ?\}|path=\{(?:column\.)?path\}/g),
  )
  expect(unread.map(([file]) => file)).toEqual([])
})

function countOf(text: string, pattern: RegExp): number {
  return Array.from(text.matchAll(pattern)).length
}
