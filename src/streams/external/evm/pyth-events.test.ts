import { describe, expect, test } from 'vitest'
import { pythEvents } from './pyth-events.ts'
import { pythFeeds } from './pyth-feeds.ts'
import type { PythTold } from './pyth-reading.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const [feed] = pythFeeds

describe('a price of Pyth', () => {
  test('is scaled by its exponent, with its confidence and its average', () => {
    const spot = priceOf({ price: 7_763_512_345_678n, conf: 2_000_000_000n, ageSeconds: 42 })
    const ema = priceOf({ price: 7_700_000_000_000n, conf: 1_000_000_000n })
    expect(told([{ spot, ema }]).events).toMatchObject([
      {
        network: 'pyth-evm',
        asset: 'BTC',
        priceUsd: 77_635.12345678,
        confidenceUsd: 20,
        ema: { priceUsd: 77_000, confidenceUsd: 10 },
        resolutionBps: 10,
        heartbeatMs: 3_600_000,
        timeExchangeMs: NOW_MS - 42_000,
      },
    ])
  })

  test('is the one that was published last, whichever contract has it', () => {
    const [old, fresh] = [{ ageSeconds: 3_000 }, { ageSeconds: 5, price: 7_000_000_000_000n }]
    const both = [old, fresh].map((given) => ({ spot: priceOf(given), ema: null }))
    for (const order of [both, both.toReversed()])
      expect(told(order).events).toMatchObject([{ timeExchangeMs: NOW_MS - 5_000, ema: null }])
  })

  test.each([
    ['of the future', { ageSeconds: -11 }],
    ['of zero', { price: 0n }],
    ['below zero', { price: -5n }],
    ['less sure than it is large', { conf: 10n ** 15n }],
    ['with an exponent above zero', { expo: 3 }],
    ['with an exponent that no feed has', { expo: -200 }],
  ])('%s is refused, and an older one of the other contract stands', (_, broken) => {
    const { events, refused } = told([
      { spot: priceOf(broken), ema: null },
      { spot: priceOf({ ageSeconds: 900 }), ema: null },
    ])
    expect(events).toMatchObject([{ timeExchangeMs: NOW_MS - 900_000 }])
    expect(refused).toEqual(['price_refused'])
  })

  test('without a sane average has none', () => {
    expect(told([{ spot: priceOf({}), ema: priceOf({ price: 0n }) }]).events).toMatchObject([
      { ema: null },
    ])
  })

  test('of a feed that no contract knows is none', () => {
    expect(told([])).toEqual({ events: [], refused: [] })
  })
})

function told(both: readonly PythTold[]) {
  if (feed === undefined) throw new Error('no feed')
  const refused: string[] = []
  const word = { blockTimeMs: NOW_MS, feeds: [{ feed, told: both }] }
  return { events: pythEvents(word, NOW_MS, (kind) => refused.push(kind)), refused }
}

function priceOf(given: {
  readonly price?: bigint
  readonly conf?: bigint
  readonly expo?: number
  readonly ageSeconds?: number
}) {
  const { price = 7_700_000_000_000n, conf = 1_000_000n, expo = -8, ageSeconds = 1 } = given
  return { price, conf, expo, publishTime: BigInt(NOW_MS / 1_000 - ageSeconds) }
}
