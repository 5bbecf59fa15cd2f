import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { ExternalEvent } from '../../domain/external.ts'
import { ExternalState } from '../market/external-state.ts'
import { exchangeQuote, oraclePrice } from '../testing/external-events.ts'
import { stableUsd } from './stable-usd.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const five = ['kraken', 'coinbase', 'okx', 'bybit', 'binance'] as const
const slow = { resolutionBps: 25, heartbeatMs: 86_400_000, confidenceUsd: null, ema: null }

describe('what a stablecoin is worth', () => {
  test('is unknown without a source', () => {
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

  test('a push feed does not vote while a continuous source does', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 0.98, NOW_MS),
      oraclePrice('chainlink', 'USDT', 1, NOW_MS - 3_600_000, slow),
    )
    expect(known).toMatchObject({ priceUsd: 0.98, sources: ['kraken'] })
  })

  test('push feeds vote where two continuous sources contradict each other', () => {
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

  test('two of four wrong sources leave no majority, and push feeds decide', () => {
    const watching = [
      exchangeQuote('kraken', 'USDT', 1, NOW_MS),
      exchangeQuote('coinbase', 'USDT', 1.0001, NOW_MS),
      oraclePrice('pyth-hermes', 'USDT', 1.05, NOW_MS),
      oraclePrice('redstone', 'USDT', 1.05, NOW_MS),
    ]
    expect(of(...watching)).toBeNull()
    const chainlink = oraclePrice('chainlink', 'USDT', 0.9995, NOW_MS - 60_000, slow)
    expect(of(...watching, chainlink)?.priceUsd).toBe(1.0001)
  })

  test('one of four wrong sources leaves a majority', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 1, NOW_MS),
      exchangeQuote('coinbase', 'USDT', 1.0001, NOW_MS),
      oraclePrice('redstone', 'USDT', 1.0002, NOW_MS),
      oraclePrice('pyth-hermes', 'USDT', 1.05, NOW_MS),
      oraclePrice('chainlink', 'USDT', 0.9995, NOW_MS - 60_000, slow),
    )
    expect(known).toMatchObject({ resolutionBps: 0 })
    expect(known?.priceUsd).toBeCloseTo(1.00015, 9)
  })

  test('two of three who lie are found out by two push feeds', () => {
    const known = of(
      exchangeQuote('kraken', 'USDT', 1, NOW_MS),
      oraclePrice('redstone', 'USDT', 1.05, NOW_MS),
      oraclePrice('pyth-hermes', 'USDT', 1.05, NOW_MS),
      oraclePrice('chainlink', 'USDT', 0.9995, NOW_MS - 60_000, slow),
      oraclePrice('pyth-evm', 'USDT', 0.9996, NOW_MS - 60_000, slow),
    )
    expect(known?.priceUsd).toBe(1)
  })

  test.each([
    { what: 'two', usd: [1, 1.05] },
    { what: 'three', usd: [0.95, 1, 1.05] },
    { what: 'two pairs', usd: [1, 1, 1.015, 1.015] },
  ])('$what without a majority leave it unknown', ({ usd }) => {
    const quotes = usd.map((one, at) => exchangeQuote(five[at] ?? 'okx', 'USDT', one, NOW_MS))
    expect(of(...quotes)).toBeNull()
  })

  property.prop([fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { maxLength: 5 })])(
    'the price is near more than half of the votes',
    (usd) => {
      const known = of(
        ...usd.map((one, at) => exchangeQuote(five[at] ?? 'okx', 'USDT', one, NOW_MS)),
      )
      const isNear = (a: number, b: number) => Math.abs(Math.log(a / b)) <= 0.0201
      if (known !== null)
        expect(usd.filter((one) => isNear(one, known.priceUsd)).length).toBeGreaterThan(
          usd.length / 2,
        )
      const isUnanimous = usd.every((one) =>
        usd.every((other) => Math.abs(Math.log(one / other)) <= 0.01),
      )
      if (usd.length > 0 && isUnanimous) expect(known).not.toBeNull()
    },
  )

  test('push feeds vote without a continuous source, at their age', () => {
    const known = of(oraclePrice('chainlink', 'USDT', 1.001, NOW_MS - 3_600_000, slow))
    expect(known).toMatchObject({ priceUsd: 1.001, ageMs: 3_600_000, sources: ['chainlink'] })
  })

  test.each([
    { what: 'too old', event: exchangeQuote('kraken', 'USDT', 1, NOW_MS - 60_001) },
    {
      what: 'too old, and received again',
      event: exchangeQuote('kraken', 'USDT', 1, NOW_MS, { timeExchangeMs: NOW_MS - 60_001 }),
    },
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

  const chainlink = (place: string, priceUsd: number, resolutionBps: number, ageMs = 0) =>
    oraclePrice('chainlink', 'USDT', priceUsd, NOW_MS - ageMs, { ...slow, place, resolutionBps })

  test('a network has one vote, that of its feed with the median price', () => {
    const stoppedFinestFeed = chainlink('ethereum', 1, 10, 20 * 3_600_000)
    const others = [chainlink('base', 0.97, 25), chainlink('polygon', 0.971, 25)]
    expect(of(stoppedFinestFeed, ...others)).toMatchObject({
      priceUsd: 0.971,
      ageMs: 0,
      sources: ['chainlink'],
    })
  })

  test('of two feeds of a network the finer one votes, or of two as fine the younger one', () => {
    expect(of(chainlink('ethereum', 1, 25), chainlink('base', 1.01, 24))?.priceUsd).toBe(1.01)
    expect(of(chainlink('ethereum', 1, 25), chainlink('base', 1.01, 25, 1))?.priceUsd).toBe(1)
  })
})

function of(...events: readonly ExternalEvent[]) {
  const external = new ExternalState()
  for (const event of events) external.apply(event)
  return stableUsd('USDT', external, NOW_MS)
}
