import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import { readScenario } from './scenario.ts'

const START_MS = Date.UTC(2026, 5, 1)
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-reference-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function read(entries: unknown) {
  const path = join(folder, 'world.json')
  writeFileSync(path, JSON.stringify(entries))
  return readScenario(path, START_MS)
}

test('seconds after the start become instants', () => {
  const entry = { kind: 'dead', source: 'okx', from_seconds: 10, until_seconds: 20 }
  expect(read([entry])).toEqual([
    { kind: 'dead', source: 'okx', fromMs: START_MS + 10_000, untilMs: START_MS + 20_000 },
  ])
})

const span = { from_seconds: 0, until_seconds: 1 }
test.each([
  [{ kind: 'flood', ...span }, /entry 1: kind is one of/],
  [{ kind: 'dead', source: 'mtgox', ...span }, /source is one of/],
  [{ kind: 'gap', chain: 'bitcoin', asset: 'ETH', bps: 1, ...span }, /chain is one of/],
  [{ kind: 'depeg', asset: 'USDC', ...span }, /bps is a number/],
  [{ kind: 'depeg', asset: 'ETH', bps: 1, ...span }, /asset is one of USDC,USDT/],
  [{ kind: 'basis', bps: 3, ...span }, /asset is a ticker/],
  [{ kind: 'crash', ...span }, /factor is a number/],
  [{ kind: 'dead', source: 'okx', from_seconds: 2, until_seconds: 1 }, /below until_seconds/],
  ['dead', /not an object/],
])('%j is refused by name', (entry, message) => {
  expect(() => read([entry])).toThrow(message)
})

test.each([
  ['a file that is not there', undefined, /cannot be read/],
  ['a file that is not JSON', '[{', /is not JSON/],
])('%s is reported without a stack', (_, text, message) => {
  const path = join(folder, 'world.json')
  if (text !== undefined) writeFileSync(path, text)
  const reading = () => readScenario(path, START_MS)
  expect(reading).toThrow(OperatingError)
  expect(reading).toThrow(message)
})
