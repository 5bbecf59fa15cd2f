import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chartContracts, contracts } from '../../compute/analyses/registry.ts'
import { definitions } from './definitions.ts'

const CONSOLE = join(import.meta.dirname, '../../console')
/** `analysis="oi" path="oi.current"`, and the same as members of an object. */
const TERM = /\banalysis(?:=|: )["']([\w-]+)["'],?\s+path(?:=|: )["']([^"']+)["']/g
/** A label that has a definition, however it names it. */
const USE = /<Term\b(?!Props)/g
/** `path: 'oi.current'`, after `analysis: 'oi'` where the table or the list is about another answer. */
const MEMBER = /(?:analysis: '([^']+)',\s+)?\bpath: '([^'/]+)'/g
const LABEL = /(?:'[^']*'|`[^`]*`|\w+)/.source
/** `figure('Contracts', 'oi.current', …)` and `column('net', 'Net', 'dislocations[].net_bps', …)`. */
const CALL = new RegExp(`\\b(?:figure\\(|column\\(\\s*'[^']+',)\\s*${LABEL},\\s*'([^'/]+)'`, 'g')
const CALLED = /(?<!function )\b(?:figure|column)\(/g
/** To the end of the tag or of the first element in it: the analysis is named before. */
const LIST = /<(?:FigureList|Table|DataTable)\s[\s\S]*?\/>/g

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

test('every column of a table and every figure of a list has a definition in the schema of its analysis', () => {
  const known = definitions([...contracts, ...chartContracts])
  const columns = sources.flatMap(([file, text]) => {
    const own = ownOf(text)
    return [
      ...Array.from(text.matchAll(MEMBER), ([, analysis = own, path = '']) => ({
        ...{ file, analysis, path },
      })),
      ...Array.from(text.matchAll(CALL), ([, path = '']) => ({ file, analysis: own, path })),
    ]
  })
  expect(columns.length, 'columns and figures were read').toBeGreaterThan(200)
  expect(columns.filter(({ analysis, path }) => known[analysis]?.[path] === undefined)).toEqual([])
})

test('terms are written so that the tests above read them', () => {
  const unread = sources.filter(
    ([, text]) =>
      countOf(text, CALLED) !== countOf(text, CALL) ||
      countOf(text, USE) >
        countOf(text, TERM) + countOf(text, /\{ ?analysis,? path ?\}|path=\{(?:column\.)?path\}/g),
  )
  expect(unread.map(([file]) => file)).toEqual([])
})

test('every list and table of a file names the answer of its paths', () => {
  const lists = sources.flatMap(([file, text]) =>
    Array.from(text.matchAll(LIST), ([tag]) => ({
      ...{ file, own: ownOf(text), named: /\banalysis="([^"]*)"/.exec(tag)?.[1] },
      // Rows of a list may be listed before it.
      hasPaths: namesPaths(tag.startsWith('<FigureList') ? text : tag),
    })),
  )
  const about = lists.filter(({ named, hasPaths }) => hasPaths || named !== undefined)
  expect(about.length, 'lists and tables were read').toBeGreaterThan(30)
  expect(about.filter(({ own, named }) => named !== own)).toEqual([])
})

/** A file with columns is about one answer, unless a column names another one. */
function ownOf(text: string): string {
  const [, first, second] = /AnswerOf<'([^']+)'>|Answers\['([^']+)'\]/.exec(text) ?? []
  return first ?? second ?? 'screener'
}

function namesPaths(text: string): boolean {
  return text.search(CALLED) !== -1 || text.search(MEMBER) !== -1
}

function countOf(text: string, pattern: RegExp): number {
  return Array.from(text.matchAll(pattern)).length
}
