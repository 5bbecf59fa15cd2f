import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { NodeFillsReport } from './node-fills.ts'
import { nodeLiquidations } from './node-fills.ts'

/** Three blocks in the documented schema: an ordinary trade, a liquidation with both accounts, a backstop, a deleveraging. */
const fixture = readFileSync(new URL('fixtures/node-fills-by-block.jsonl', import.meta.url), 'utf8')
const lines = fixture.split('\n')
const VAULT = '0x2e3d94f0562703b25c83308a05046ddaf9a8dd14'

function read(given: Iterable<string>, isVault?: (account: string) => boolean) {
  const found = []
  const reading = nodeLiquidations(given, isVault)
  let step = reading.next()
  for (; step.done !== true; step = reading.next()) found.push(step.value)
  return { found, report: step.value as NodeFillsReport }
}

describe('the archived fills of the venue', () => {
  test('contain each liquidation once, and no deleveraging', () => {
    const { found, report } = read(lines)
    expect(found).toEqual([
      {
        ...{ coin: 'ETH', tradeId: 9001, side: 'long', price: 3999.5, sizeBase: 1.25 },
        ...{ account: `0x${'a1'.repeat(20)}`, markPrice: 4001.2, method: 'market' },
        timeMs: 1_760_131_234_567,
      },
      {
        ...{ coin: 'SOL', tradeId: 9002, side: 'short', price: 201.3, sizeBase: 40 },
        ...{ account: `0x${'c3'.repeat(20)}`, markPrice: 201.3, method: 'backstop' },
        timeMs: 1_760_131_235_000,
      },
    ])
    expect(report).toEqual({ lines: 3, unreadable: 0, fills: 8, dropped: 0 })
  })

  test('the older form has one fill a line', () => {
    const older = lines
      .filter((line) => line !== '')
      .flatMap((line) => (JSON.parse(line).events as unknown[]).map((pair) => JSON.stringify(pair)))
    expect(read(older).found).toEqual(read(lines).found)
  })

  test('what is taken from a vault is left out', () => {
    const isVault = (account: string) => account === `0x${'c3'.repeat(20)}`
    expect(read(lines, isVault).found.map(({ coin }) => coin)).toEqual(['ETH'])
    expect(fixture).toContain(VAULT)
  })

  test('damaged lines are counted, and the others are read', () => {
    const damaged = ['{"events":', ...lines, '{}', '7', '{"events":[7]}']
    const { found, report } = read(damaged)
    expect(found).toHaveLength(2)
    expect(report).toMatchObject({ unreadable: 3, dropped: 1 })
  })
})
