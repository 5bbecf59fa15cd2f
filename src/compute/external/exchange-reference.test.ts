import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Exchange, ExternalEvent } from '../../domain/external.ts'
import { ExternalState } from '../market/external-state.ts'
import { exchangeQuote } from '../testing/external-events.ts'
import type { ExchangeQuoteFault } from './exchange-reference.ts'
import { exchangePrices } from './exchange-reference.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const five: readonly Exchange[] = ['coinbase', 'kraken', 'binance', 'okx', 'bybit']
const mids = fc.array(fc.double({ min: 99, max: 101, noNaN: true }), {
  minLength: 2,
  maxLength: 5,
})

describe('reference of the exchanges', () => {
  test('is the median of one mid of each', () => {
    const { reference } = of(100, quote('coinbase', 100), quote('kraken', 100.2), quote('okx', 99))
    expect(reference).toMatchObject({ midUsd: 100, ageMs: 0 })
    expect(reference?.dispersionBps).toBeCloseTo(120, 9)
    expect(reference?.spreadBps).toBeCloseTo(1, 9)
    expect(reference?.used).toHaveLength(3)
  })

  test('does not rest on one alone', () => {
    expect(of(100, quote('kraken', 100)).reference).toBeNull()
  })

  test('an exchange that quotes twice has one voice, in USD if it can', () => {
    const { legs } = of(
      100,
      quote('kraken', 100),
      quote('kraken', 101, { quote: 'USDC' }),
      quote('okx', 100),
      ...rates(1, 1),
    )
    expect(legs.map(({ exchange, quote: of, fault }) => [exchange, of, fault])).toEqual([
      ['kraken', 'USD', null],
      ['kraken', 'USDC', 'same_exchange'],
      ['okx', 'USD', null],
    ])
  })

  test.each<{ why: ExchangeQuoteFault; leg: ExternalEvent }>([
    { why: 'too_old', leg: quote('okx', 100, { timeReceivedMs: NOW_MS - 5_001 }) },
    { why: 'too_old', leg: quote('okx', 100, { timeExchangeMs: NOW_MS - 10_001 }) },
    { why: 'crossed', leg: quote('okx', 100, { bid: 100.1, ask: 100 }) },
    { why: 'crossed', leg: quote('okx', 100, { bid: Number.NaN }) },
    { why: 'crossed', leg: quote('okx', 100, { bid: 0 }) },
    { why: 'wide_spread', leg: quote('okx', 100, { bid: 98, ask: 100.1 }) },
    { why: 'no_usd_rate', leg: quote('okx', 100, { quote: 'USDT' }) },
    { why: 'wrong_scale', leg: quote('okx', 100_000) },
    { why: 'wrong_scale', leg: quote('okx', 129) },
    { why: 'outlier', leg: quote('okx', 106) },
    { why: 'outlier', leg: quote('okx', 105) },
    { why: 'outlier', leg: quote('okx', 103.05) },
    { why: 'outlier', leg: quote('okx', 97.04) },
  ])('$why: such a quote is shown and not used', ({ why, leg }) => {
    const { reference, legs } = of(100, quote('coinbase', 100), quote('kraken', 100), leg)
    expect(legs.find(({ exchange }) => exchange === 'okx')?.fault).toBe(why)
    expect(reference).toMatchObject({ midUsd: 100 })
  })

  test('one that is 3 % off is used', () => {
    const { reference } = of(
      100,
      quote('coinbase', 100),
      quote('kraken', 100),
      quote('okx', 103.04),
    )
    expect(reference?.used).toHaveLength(3)
  })

  test('two that jump together are believed', () => {
    const { reference } = of(
      100,
      ...[100, 100.1, 106, 106.2, 106.1].map((mid, at) => quote(five[at] as Exchange, mid)),
    )
    expect(reference).toMatchObject({ midUsd: 106 })
    expect(reference?.used).toHaveLength(5)
  })

  test('one against one convicts both', () => {
    expect(of(100, quote('kraken', 100), quote('okx', 106)).reference).toBeNull()
  })

  test('is as old as the oldest quote that it uses', () => {
    const { reference } = of(
      100,
      quote('kraken', 100, { timeReceivedMs: NOW_MS - 4_000 }),
      quote('okx', 100),
      quote('bybit', 106, { timeReceivedMs: NOW_MS - 4_900 }),
    )
    expect(reference).toMatchObject({ ageMs: 4_000, asOfMs: NOW_MS - 4_000 })
  })

  property.prop([mids, fc.double({ min: 0.9, max: 1.1, noNaN: true })])(
    'converting quotes there and back changes nothing',
    (prices, usdt) => {
      const legs = prices.map((mid, at) => [five[at] as Exchange, mid] as const)
      const inUsd = of(100, ...legs.map(([exchange, mid]) => quote(exchange, mid)))
      const inUsdt = of(
        100,
        ...rates(usdt, 1),
        ...legs.map(([exchange, mid]) => quote(exchange, mid / usdt, { quote: 'USDT' })),
      )
      expect(inUsdt.reference?.midUsd).toBeCloseTo(inUsd.reference?.midUsd ?? Number.NaN, 9)
    },
  )

  property.prop([mids, fc.double({ min: 1e-9, max: 1e6, noNaN: true })])(
    'a scale changes prices and nothing else',
    (prices, scale) => {
      const legs = (times: number) =>
        of(100 * times, ...prices.map((mid, at) => quote(five[at] as Exchange, mid * times)))
          .reference
      const [one, many] = [legs(1), legs(scale)]
      expect((many?.midUsd ?? 0) / scale).toBeCloseTo(one?.midUsd ?? Number.NaN, 9)
      expect(many?.dispersionBps).toBeCloseTo(one?.dispersionBps ?? Number.NaN, 6)
    },
  )

  property.prop([mids, fc.nat()])('does not depend on the order of exchanges', (prices, seed) => {
    const shuffled = prices.toSorted((a, b) => ((a * seed) % 7) - ((b * seed) % 7))
    const of100 = (list: readonly number[]) =>
      of(100, ...list.map((mid, at) => quote(five[at] as Exchange, mid))).reference?.midUsd
    expect(of100(shuffled)).toBe(of100(prices))
  })
})

function of(expectedUsd: number, ...events: readonly ExternalEvent[]) {
  const external = new ExternalState()
  for (const event of events) external.apply(event)
  return exchangePrices('BTC', external, expectedUsd, NOW_MS)
}

function quote(exchange: Exchange, mid: number, changes = {}) {
  return exchangeQuote(exchange, 'BTC', mid, NOW_MS, changes)
}

function rates(usdt: number, usdc: number): readonly ExternalEvent[] {
  return [
    exchangeQuote('kraken', 'USDT', usdt, NOW_MS),
    exchangeQuote('kraken', 'USDC', usdc, NOW_MS),
  ]
}
