import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { FillPair, PlantedTrade } from '../../../test/support/node-fills.ts'
import { blockLine, liquidatedPairs, ordinaryPairs } from '../../../test/support/node-fills.ts'
import { NodeFills } from './node-fills.ts'

/** Three blocks in the documented schema: an ordinary trade, a liquidation with both accounts, a backstop, a deleveraging. */
const fixture = readFileSync(new URL('fixtures/node-fills-by-block.jsonl', import.meta.url), 'utf8')
const lines = fixture.trimEnd().split('\n')
const FIXTURE_HOUR_MS = Date.UTC(2025, 9, 10, 21)
const HOUR_MS = Date.UTC(2026, 6, 15, 14)
const MINUTE_MS = 60_000

function read(given: Iterable<string>, hourMs = HOUR_MS) {
  const reader = new NodeFills()
  const states = Array.from(given, (line) => reader.read(line, hourMs))
  return { states, ...reader.take() }
}

describe('the archived fills of the venue', () => {
  test('contain each liquidation once, and no deleveraging', () => {
    const { fills, spans, states } = read(lines, FIXTURE_HOUR_MS)
    expect(states).toEqual(['read', 'read', 'read'])
    expect(fills).toEqual([
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
    expect(spans).toEqual([{ fromMs: 1_760_131_234_567, untilMs: 1_760_131_236_100 }])
  })

  test('the older form has one fill a line, and covers the time in which lines follow each other', () => {
    const older = lines.flatMap((line) =>
      (JSON.parse(line).events as unknown[]).map((pair) => JSON.stringify(pair)),
    )
    const { fills, spans } = read(older, FIXTURE_HOUR_MS)
    expect(fills).toEqual(read(lines, FIXTURE_HOUR_MS).fills)
    // Other fills of the first millisecond may be in the file before.
    expect(spans).toEqual([{ fromMs: 1_760_131_234_568, untilMs: 1_760_131_236_100 }])
  })

  test('a partial liquidation is several trades', () => {
    const { fills } = read([block(1, 0, [...pairs(1), ...pairs(2), ...pairs(3)])])
    expect(fills.map(({ tradeId }) => tradeId)).toEqual([1, 2, 3])
  })
})

describe('the covered time', () => {
  test('is that of blocks whose numbers follow each other, however far apart', () => {
    const { spans } = read([block(1, 0), block(2, 1), block(3, 30)])
    expect(spans).toEqual([span(0, 30)])
  })

  test('ends where a block is missing, and begins again', () => {
    const { spans } = read([block(1, 0), block(2, 1), block(4, 2), block(5, 3)])
    expect(spans).toEqual([span(0, 1), span(2, 3)])
  })

  test('goes on in the file of the next hour', () => {
    const reader = new NodeFills()
    for (const [number, minute] of [59, 60, 61].entries())
      reader.read(block(number, minute), HOUR_MS)
    expect(reader.take().spans).toEqual([span(59, 61)])
    reader.read(block(3, 62), HOUR_MS + 60 * MINUTE_MS)
    reader.read(block(5, 64), HOUR_MS + 60 * MINUTE_MS)
    reader.read(block(6, 65), HOUR_MS + 60 * MINUTE_MS)
    expect(reader.take().spans).toEqual([span(61, 62), span(64, 65)])
  })

  test('of lines without a block number ends after ten seconds without any', () => {
    const at = (...seconds: readonly number[]) =>
      seconds.map((second) => JSON.stringify(ordinaryPairs(trade(1, second / 60))[0]))
    expect(read(at(0, 10, 20)).spans).toEqual([{ fromMs: HOUR_MS + 1, untilMs: HOUR_MS + 20_000 }])
    expect(read(at(0, 5, 15.001, 20)).spans).toEqual([
      { fromMs: HOUR_MS + 1, untilMs: HOUR_MS + 5_000 },
      { fromMs: HOUR_MS + 15_002, untilMs: HOUR_MS + 20_000 },
    ])
  })

  test('lacks a torn line of the older form, and all of its instant', () => {
    const [first, torn, same, last] = [0, 1, 1, 2].map((second, at) =>
      JSON.stringify(ordinaryPairs(trade(at, second / 60))[0]),
    ) as [string, string, string, string]
    const { spans, states } = read([first, torn.slice(0, -30), same, last])
    expect(states).toEqual(['read', 'unreadable', 'read', 'read'])
    expect(spans).toEqual([{ fromMs: HOUR_MS + 1_001, untilMs: HOUR_MS + 2_000 }])
  })

  test.each([
    ['torn', (line: string) => line.slice(0, -40)],
    ['torn between two fills', (line: string) => line.slice(0, line.indexOf('],["0x') + 1)],
    ['torn before the mark of the liquidation', (line: string) => line.slice(0, 150)],
    ['of another layout', () => '{"coin":"ETH","side":"A","time":"2026-07-15T14:01:00","px":"1"}'],
    ['of another hour', () => blockLine(2, HOUR_MS - 3 * 60 * MINUTE_MS, [])],
    ['without a time', (line: string) => line.replace(/"block_time":"[^"]*"/, '"block_time":"?"')],
    [
      'without a number',
      (line: string) => line.replace(/"block_number":\d+/, '"block_number":"2"'),
    ],
    ['a number', () => '7'],
    ['an empty list', () => '[]'],
  ])('lacks what a line holds that is %s', (_, damaged) => {
    for (const events of [pairs(1), ordinaryPairs(trade(1, 1))]) {
      const { fills, spans, states } = read([
        ...[block(1, 0), damaged(block(2, 1, events))],
        ...[block(3, 2, pairs(2)), block(4, 3)],
      ])
      expect(states).toEqual(['read', 'unreadable', 'read', 'read'])
      expect(spans).toEqual([span(2, 3)])
      expect(fills.map(({ tradeId }) => tradeId)).toEqual([2])
    }
  })

  const invalid = (change: object) =>
    liquidatedPairs(trade(1, 2)).map(([account, row]) => [account, { ...row, ...change }] as const)

  test.each([
    ['a size of zero', invalid({ sz: '0' })],
    ['a time in letters', invalid({ time: 'x' })],
    ['a mark without an account', invalid({ liquidation: {} })],
    ['a mark in letters', invalid({ liquidation: 'x' })],
    ['another account than an address', liquidatedPairs(trade(1, 2)).map(([, row]) => ['x', row])],
  ] as const)(
    'is that of the market without its instant for the coin of a fill with %s',
    (_, wrong) => {
      const { fills, spans, gaps, states } = read([
        ...[
          block(1, 0),
          block(2, 1),
          block(3, 2, [...(wrong as readonly FillPair[]), ...pairs(2)]),
        ],
        ...[block(4, 3), block(5, 4)],
      ])
      expect(states).toEqual(['read', 'read', 'dropped', 'read', 'read'])
      expect(fills.map(({ tradeId }) => tradeId)).toEqual([2])
      expect(spans).toEqual([span(0, 4)])
      const { fromMs } = span(2, 2)
      expect(gaps).toEqual([{ coin: 'ETH', fromMs, untilMs: fromMs + 1 }])
    },
  )

  test('lacks a block with an invalid fill of an unknown coin, and has its others', () => {
    for (const wrong of [invalid({ coin: 7 }), [['0x', null]]]) {
      const { fills, spans, gaps, states } = read([
        ...[
          block(1, 0),
          block(2, 1),
          block(3, 2, [...(wrong as readonly FillPair[]), ...pairs(2)]),
        ],
        ...[block(4, 3), block(5, 4)],
      ])
      expect(states).toEqual(['read', 'read', 'dropped', 'read', 'read'])
      expect(fills.map(({ tradeId }) => tradeId)).toEqual([2])
      expect(spans).toEqual([span(0, 1), span(3, 4)])
      expect(gaps).toEqual([])
    }
  })

  test('of lines without a block number lacks an instant of the coin of an invalid fill', () => {
    const line = (second: number, change: object = {}) => {
      const [account, row] = liquidatedPairs(trade(second, second / 60))[0] as FillPair
      return JSON.stringify([account, { ...row, ...change }])
    }
    const { spans, gaps } = read([line(0), line(1, { side: 'C' }), line(2)])
    expect(spans).toEqual([{ fromMs: HOUR_MS + 1, untilMs: HOUR_MS + 2_000 }])
    expect(gaps).toEqual([{ coin: 'ETH', fromMs: HOUR_MS + 1_000, untilMs: HOUR_MS + 1_001 }])
  })

  test('ends with a loss, also if the next line is near', () => {
    const reader = new NodeFills()
    const line = (second: number) => JSON.stringify(ordinaryPairs(trade(1, second / 60))[0])
    for (const second of [0, 1]) reader.read(line(second), HOUR_MS)
    reader.lose()
    for (const second of [2, 3]) reader.read(line(second), HOUR_MS)
    expect(reader.take().spans).toEqual([
      { fromMs: HOUR_MS + 1, untilMs: HOUR_MS + 1_000 },
      { fromMs: HOUR_MS + 2_001, untilMs: HOUR_MS + 3_000 },
    ])
  })

  test('is not larger for lines that are read twice or in another order, nor lost for one wrong number', () => {
    const whole = [block(1, 0, pairs(1)), block(2, 1), block(3, 2, pairs(2)), block(4, 3)]
    const twice = read(whole.flatMap((line) => [line, line]))
    expect(twice.spans).toEqual([span(0, 3)])
    expect(twice.fills).toHaveLength(2)
    expect(read([...whole, ...whole]).spans).toEqual([span(0, 3)])
    const swapped = read([whole[0], whole[2], whole[1], whole[3]] as string[])
    expect(swapped.fills).toHaveLength(2)
    expect(swapped.spans).toEqual([span(2, 3)])
    const numbers = [1, 2, 9_000_000_000, 4, 5].map((number, minute) => block(number, minute))
    expect(read(numbers).spans).toEqual([span(0, 1), span(3, 4)])
  })
})

function trade(tradeId: number, minute: number): PlantedTrade {
  const figures = { coin: 'ETH', side: 'long', sizeBase: 1, markPrice: 3_000 } as const
  return { ...figures, tradeId, timeMs: HOUR_MS + minute * MINUTE_MS }
}

function pairs(tradeId: number) {
  return liquidatedPairs(trade(tradeId, 1))
}

function block(number: number, minute: number, events: readonly FillPair[] = []): string {
  return blockLine(number, HOUR_MS + minute * MINUTE_MS, events)
}

function span(fromMinute: number, untilMinute: number) {
  const at = (minute: number) => HOUR_MS + minute * MINUTE_MS
  return { fromMs: at(fromMinute), untilMs: at(untilMinute) }
}
