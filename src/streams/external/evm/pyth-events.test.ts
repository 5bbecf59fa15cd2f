import { describe, expect, test } from 'vitest'
import { listedFeeds, pythEvents } from './pyth-events.ts'
import { pythFeeds } from './pyth-feeds.ts'
import type { FeedPrices } from './pyth-query.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const [feed] = pythFeeds

describe('Pyth prices', () => {
  test('price, confidence and average are scaled by the exponent', () => {
    const spot = priceOf({ price: 7_763_512_345_678n, conf: 2_000_000_000n, ageSeconds: 42 })
    const ema = priceOf({ price: 7_700_000_000_000n, conf: 1_000_000_000n })
    expect(eventsOf([{ spot, ema }]).events).toMatchObject([
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

  test('the newest price of any contract is used', () => {
    const [old, fresh] = [{ ageSeconds: 3_000 }, { ageSeconds: 5, price: 7_000_000_000_000n }]
    const both = [old, fresh].map((given) => ({ spot: priceOf(given), ema: null }))
    for (const order of [both, both.toReversed()])
      expect(eventsOf(order).events).toMatchObject([{ timeExchangeMs: NOW_MS - 5_000, ema: null }])
  })

  test.each([
    ['in the future', { ageSeconds: -11 }],
    ['of zero', { price: 0n }],
    ['below zero', { price: -5n }],
    ['with a confidence above the price', { conf: 10n ** 15n }],
    ['with an exponent above zero', { expo: 3 }],
    ['with an exponent below -18', { expo: -200 }],
  ])('a price %s is refused; the older price of the other contract is used', (_, broken) => {
    const { events, refused } = eventsOf([
      { spot: priceOf(broken), ema: null },
      { spot: priceOf({ ageSeconds: 900 }), ema: null },
    ])
    expect(events).toMatchObject([{ timeExchangeMs: NOW_MS - 900_000 }])
    expect(refused).toEqual(['price_refused'])
  })

  test('an implausible average is null', () => {
    expect(eventsOf([{ spot: priceOf({}), ema: priceOf({ price: 0n }) }]).events).toMatchObject([
      { ema: null },
    ])
  })

  test('a feed is missing only if the venue lists its asset', () => {
    const { events } = eventsOf([{ spot: priceOf({}), ema: null }])
    expect(listedFeeds(events, ['BTC', 'ETH', 'kUNKNOWN'])).toEqual({ feeds: 2, missing: 1 })
    expect(listedFeeds(events, ['BTC'])).toEqual({ feeds: 1, missing: 0 })
    expect(listedFeeds([], [])).toEqual({ feeds: 0, missing: 0 })
  })

  test('a feed that no contract has gives no event', () => {
    expect(eventsOf([])).toEqual({ events: [], refused: [] })
  })
})

function eventsOf(both: readonly FeedPrices[]) {
  if (feed === undefined) throw new Error('no feed')
  const refused: string[] = []
  const reading = { feeds: [{ feed, prices: both }] }
  return { events: pythEvents(reading, NOW_MS, (kind) => refused.push(kind)), refused }
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
