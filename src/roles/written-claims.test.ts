import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OperatingError } from '../domain/errors.ts'
import { writtenClaims } from './written-claims.ts'

const event = {
  rule: 'vote.rsi@2',
  ...{ coin: 'SOL', coinClass: 'mid', madeAtMs: Date.UTC(2026, 0, 1), horizonMs: 3_600_000 },
  statement: { form: 'event', probability: 0.55, control: 0.5 },
  reference: [1, null],
  resolvedAtMs: Date.UTC(2026, 0, 1, 2),
  outcome: { kind: 'event', happened: true, controlHappened: null },
}
const sevenValues = [1, 2, 3, 4, 5, 6, 7]
const quantiles = {
  ...event,
  rule: 'funding.next@1',
  statement: { form: 'quantiles', values: sevenValues, control: sevenValues },
  outcome: { kind: 'value', value: 3 },
}
const rank = {
  ...event,
  rule: 'cascade.score@1',
  statement: { form: 'rank', score: 3, control: 2 },
  outcome: { kind: 'void', reason: 'gap' },
}
const { outcome: _outcome, ...open } = event
const { madeAtMs: _madeAtMs, ...undated } = event

describe('file of claims', () => {
  let folder: string
  const read = (text: string) => {
    const path = join(folder, 'claims.jsonl')
    writeFileSync(path, text)
    return [...writtenClaims(path)]
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-written-claims-'))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('has claims of every form, after a byte order mark and between empty lines', () => {
    const lines = [event, quantiles, rank].map((claim) => JSON.stringify(claim))
    expect(read(`\uFEFF${lines.join('\r\n\r\n')}\n\n`)).toEqual([event, quantiles, rank])
  })

  test('counts a claim once', () => {
    const line = `${JSON.stringify(event)}\n`
    expect(read(line + line)).toEqual([event])
  })

  test.each(['', '\n', '\uFEFF'])('without claims says so: %j', (text) => {
    expect(() => read(text)).toThrow(/claims\.jsonl has no claims$/)
  })

  test.each([
    [{ ...event, statement: { ...event.statement, probability: 7 } }, 'statement.probability must'],
    [{ ...event, outcome: { ...event.outcome, happened: 'false' } }, 'outcome.happened must be'],
    [{ ...event, outcome: { kind: 'value', value: 1 } }, 'outcome.kind must be equal to constant'],
    [{ ...event, outcome: { kind: 'maybe' } }, 'outcome.kind must be equal to constant "event"'],
    [{ ...event, statement: quantiles.statement }, 'statement.form must be equal to constant'],
    [
      { ...quantiles, statement: { ...quantiles.statement, values: [1, 2, 3] } },
      'statement.values',
    ],
    [{ ...event, rule: 'luck.coin@1' }, 'rule must match pattern'],
    [{ ...event, madeAtMs: 1e18 }, 'madeAtMs must be'],
    [undated, 'must have required properties madeAtMs'],
    [open, 'a claim without an outcome: leave it out'],
    [null, 'not a claim: must be object'],
    [7, 'not a claim: must be object'],
    [[event], "an array: write its claims one a line, as by jq -c '.[]'"],
    [{ family: 'vote', claims: [event] }, 'a page of claims: write them one a line, as by jq -c'],
  ])('refuses line 2: %j', (wrong, fault) => {
    const text = `${JSON.stringify(event)}\n${JSON.stringify(wrong)}\n`
    expect(() => read(text)).toThrow(OperatingError)
    expect(() => read(text)).toThrow('claims.jsonl: line 2: ')
    expect(() => read(text)).toThrow(fault)
  })

  test('says what to do with a page of several lines, and what is not JSON', () => {
    const page = JSON.stringify({ claims: [event] }, null, 2)
    expect(() => read(page)).toThrow(/line 1: a page of claims: /)
    expect(() => read('no json')).toThrow(/line 1: not JSON$/)
  })
})
