import { describe, expect, test } from 'vitest'
import type { OutsideEvent } from '../../domain/outside.ts'
import { exchangeQuote, oraclePrice } from '../testing/coin-world.ts'
import { OutsideState } from './outside-state.ts'
import { stableUsd } from './stable-usd.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const slow = { resolutionBps: 25, heartbeatMs: 86_400_000, confidenceUsd: null, ema: null }

describe('what a stablecoin is worth', () => {
  test('nobody knows where nobody tells', () => {
    expect(of()).toBeNull()
  })

  test('is the middle of who trades it for USD and who streams it', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 0.998, NOW_MS),
      exchangeQuote('coinbase', 'USDT', 0.999, NOW_MS - 30_000),
      oraclePrice('pyth-hermes', 'USDT', 0.9984, NOW_MS),
    )
    expect(known).toMatchObject({
      priceUsd: 0.9984,
      ageMs: 30_000,
      resolutionBps: 0,
      sources: ['coinbase', 'kraken', 'pyth-hermes'],
    })
  })

  test('a feed that publishes on moves only is not asked while somebody watches', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 0.98, NOW_MS),
      oraclePrice('chainlink', 'USDT', 1, NOW_MS - 3_600_000, slow),
    )
    expect(known).toMatchObject({ priceUsd: 0.98, sources: ['kraken'] })
  })

  test('it is where two who watch quarrel', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 0.9, NOW_MS),
      exchangeQuote('coinbase', 'USDT', 1, NOW_MS),
      oraclePrice('chainlink', 'USDT', 0.999, NOW_MS - 60_000, slow),
    )
    expect(known).toMatchObject({ priceUsd: 0.999, resolutionBps: 25 })
  })

  test.each([
    { apartBps: 99, priceUsd: 0.995074 },
    { apartBps: 101, priceUsd: 0.999 },
  ])('two who watch quarrel from 100 bps on: $apartBps', ({ apartBps, priceUsd }) => {
    const known = of(
      exchangeQuote('kraken', 'USDT', Math.exp(-apartBps / 10_000), NOW_MS),
      exchangeQuote('coinbase', 'USDT', 1, NOW_MS),
      oraclePrice('chainlink', 'USDT', 0.999, NOW_MS - 60_000, slow),
    )
    expect(known?.priceUsd).toBeCloseTo(priceUsd, 5)
  })

  test('or where nobody watches, as old as it is', () => {
    const known = of(oraclePrice('chainlink', 'USDT', 1.001, NOW_MS - 3_600_000, slow))
    expect(known).toMatchObject({ priceUsd: 1.001, ageMs: 3_600_000, sources: ['chainlink'] })
  })

  test.each([
    { what: 'too old', event: exchangeQuote('kraken', 'USDT', 1, NOW_MS - 60_001) },
    { what: 'crossed', event: exchangeQuote('kraken', 'USDT', 1, NOW_MS, { bid: 1.1 }) },
    { what: 'wide', event: exchangeQuote('kraken', 'USDT', 1, NOW_MS, { ask: 1.1 }) },
    {
      what: 'in another currency',
      event: exchangeQuote('okx', 'USDT', 1, NOW_MS, { quote: 'USDC' }),
    },
    {
      what: 'beyond its heartbeat',
      event: oraclePrice('chainlink', 'USDT', 1, NOW_MS - 26 * 3_600_000 - 1, slow),
    },
    { what: 'no number', event: oraclePrice('pyth-hermes', 'USDT', Number.NaN, NOW_MS) },
  ])('what is $what vouches for nothing', ({ event }) => {
    expect(of(event)).toBeNull()
  })

  test('a network has one voice, that of its finest feed', () => {
    const places = ['ethereum', 'base', 'polygon'].map((place, at) =>
      oraclePrice('chainlink', 'USDT', 1 + at / 100, NOW_MS, {
        ...slow,
        place,
        resolutionBps: 25 - at,
      }),
    )
    expect(of(...places)).toMatchObject({ priceUsd: 1.02, sources: ['chainlink'] })
  })
})

function of(...events: readonly OutsideEvent[]) {
  const outside = new OutsideState()
  for (const event of events) outside.apply(event)
  return stableUsd('USDT', outside, NOW_MS)
}
