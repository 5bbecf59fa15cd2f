import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { CoinEvent } from '../../../domain/event.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { coinOf, START_MS } from '../../liquidation/testing/coin.ts'
import { newMarket } from '../../testing/new-market.ts'
import type { Priced } from '../../testing/priced.ts'
import { context, wave } from '../../testing/tape.ts'
import { liquidations } from './liquidations.ts'
import { LiquidationsAnswer } from './liquidations-schema.ts'

type Body = Priced<Static<typeof LiquidationsAnswer>>

type Account = {
  readonly size: number
  readonly leverage: number
  /** Liquidation price over the first mark; null for none. */
  readonly multiple: number | null
}

type Move = { readonly grown: number; readonly moved: number }

/** Longs and shorts on either side of the mark, near, far and impossible; sizes up to a billion open interests. */
const account: fc.Arbitrary<Account> = fc.record({
  size: fc.oneof(
    fc.double({ min: -300, max: 300, noNaN: true }),
    fc.double({ min: -1e12, max: 1e12, noNaN: true }),
  ),
  leverage: fc.integer({ min: 1, max: 50 }),
  multiple: fc.option(
    fc.oneof(
      fc.double({ min: 0.5, max: 600, noNaN: true }),
      fc.double({ min: 0.0001, max: 3, noNaN: true }),
    ),
  ),
})
const accounts = fc.array(account, { maxLength: 30 })
const moves = fc.array(
  fc.record({
    grown: fc.double({ min: -0.9, max: 0.45, noNaN: true }),
    moved: fc.double({ min: -0.4, max: 0.6, noNaN: true }),
  }),
  { maxLength: 12 },
)
/** An answer about one coin asks nothing of it. */
const noMarket = newMarket(new PulsePool(3))
const maxLeverages = fc.constantFrom(3, 5, 10, 20, 25, 40, 50)
const prices = fc.constantFrom(0.0123, 1, 77_430)

describe('every contract has one long and one short', () => {
  property.prop([accounts, moves, accounts, maxLeverages, prices])(
    'so zones, low leverage, what lies beyond and what has no price are the open interest, on each side',
    (before, moved, after, maxLeverage, price) => {
      const { zones, below_3x, beyond, without_liquidation_price_usd, summary } = answerTo(
        eventsOf({ before, moved, after, price }),
        maxLeverage,
      )
      for (const side of ['longs', 'shorts'] as const) {
        const parts = [
          ...zones[side].map(({ estimated_notional }) => estimated_notional),
          below_3x[side].notional_usd,
          beyond[side].notional_usd,
          without_liquidation_price_usd[side],
        ]
        const sum = total(parts)
        expect(sum, side).toBeLessThanOrEqual(summary.open_interest_usd)
        expect(sum, 'all of it but the cents').toBeGreaterThan(
          summary.open_interest_usd - parts.length,
        )
      }
    },
  )

  property.prop([accounts, moves, accounts, maxLeverages, prices])(
    'so no part of the answer is larger than what it is a part of',
    (before, moved, after, maxLeverage, price) => {
      const body = answerTo(eventsOf({ before, moved, after, price }), maxLeverage)
      expect([...Compile(LiquidationsAnswer).Errors(body)]).toEqual([])
      const { summary, coverage, total_at_risk_usd: risk } = body
      const clusters = [...body.clusters.longs, ...body.clusters.shorts]
      expect(total(clusters.map((row) => row.estimated_notional))).toBeLessThanOrEqual(
        summary.longs_usd + summary.shorts_usd,
      )
      for (const { estimated_notional, observed_notional } of [
        ...body.zones.longs,
        ...body.zones.shorts,
        ...clusters,
      ])
        expect(observed_notional).toBeLessThanOrEqual(estimated_notional)
      const ascending = [risk.within_1pct, risk.within_2pct, risk.within_5pct]
      expect(ascending).toEqual(ascending.toSorted((one, other) => one - other))
      expect(risk.within_5pct).toBeLessThanOrEqual(summary.longs_usd + summary.shorts_usd + 1)
      for (const side of ['longs', 'shorts'] as const) {
        const { notional_usd, observed_usd, by_leverage } = body.beyond[side]
        expect(summary[`${side}_usd`] + notional_usd).toBeLessThanOrEqual(summary.open_interest_usd)
        expect(observed_usd).toBeLessThanOrEqual(notional_usd)
        expect(total(Object.values(by_leverage))).toBeLessThanOrEqual(notional_usd)
        expect(coverage[`${side}_on_map_pct`] / 100).toBeCloseTo(
          summary[`${side}_usd`] / summary.open_interest_usd,
          2,
        )
      }
      const covered = total([
        coverage.observed_pct,
        coverage.flow_pct,
        coverage.prior_pct,
        coverage.beyond_pct,
        coverage.without_liquidation_price_pct,
      ])
      expect(covered).toBeCloseTo(100, 1)
    },
  )

  property.prop([accounts, moves, accounts, maxLeverages, prices])(
    'and no price stands beyond the map or on the wrong side of the mark',
    (before, moved, after, maxLeverage, price) => {
      const { zones, clusters, below_3x, beyond, mark_price } = answerTo(
        eventsOf({ before, moved, after, price }),
        maxLeverage,
      )
      for (const [side, from, until] of [
        ['longs', 0.449, 1],
        ['shorts', 1, 2.202],
      ] as const) {
        const shown = [...zones[side], ...clusters[side], below_3x[side]]
        for (const { price: at } of shown) {
          expect((at ?? mark_price) / mark_price, side).toBeGreaterThanOrEqual(from)
          expect((at ?? mark_price) / mark_price, side).toBeLessThanOrEqual(until)
        }
        const multiples = [beyond[side].nearest_multiple, beyond[side].median_multiple]
        for (const multiple of multiples) {
          if (multiple === null) continue
          expect(multiple > 0.452 && multiple < 2.192, `${side} at ${multiple}`).toBe(false)
        }
        for (const { holds, estimated_notional } of zones[side])
          if (estimated_notional > 0) expect(holds).toBe('on_map')
      }
    },
  )
})

function eventsOf(given: {
  readonly before: readonly Account[]
  readonly moved: readonly Move[]
  readonly after: readonly Account[]
  readonly price: number
}): CoinEvent[] {
  let [markPrice, openInterestBase, seconds] = [given.price, 100_000 / given.price + 7, 0]
  const read = () =>
    context('X', { markPrice, midPrice: markPrice * 1.0002, openInterestBase, ...at(seconds) })
  const replies = (accounts: readonly Account[], name: string) =>
    accounts.map((one, number): CoinEvent => {
      const { size, leverage, multiple } = one
      return {
        kind: 'account-position',
        coin: 'X',
        account: `0x${name}${number}`,
        sizeBase: (size * openInterestBase) / 1_000,
        entryPrice: given.price,
        leverage,
        liquidationPrice: multiple === null ? null : multiple * given.price,
        ...at(seconds),
      }
    })
  // Traded volume from 0.6 to 1.6 times the price, of which some lies beyond the map by now.
  const traded = wave('15m', 1_400, 0).map((bar, number) => {
    const close = given.price * 1.6 ** Math.sin(number / 20)
    return { ...bar, open: close, high: close * 1.01, low: close * 0.99, close }
  })
  const events: CoinEvent[] = [
    read(),
    { kind: 'history', coin: 'X', timeframe: '15m', bars: traded, ...at(0) },
    ...replies(given.before, 'a'),
  ]
  for (const { grown, moved } of given.moved) {
    seconds += 14
    markPrice *= 1 + moved
    openInterestBase *= 1 + grown
    events.push(read())
  }
  return [...events, ...replies(given.after, 'b')]
}

function answerTo(events: readonly CoinEvent[], maxLeverage: number): Body {
  const coin = coinOf(maxLeverage)
  for (const event of events) coin.apply(event)
  const nowMs = START_MS + 200_000
  const rendering = {
    key: 'liquidations/X' as const,
    version: 1,
    renderedAtMs: nowMs,
    snapshotId: 's',
    engineVersion: '0',
  }
  const document = liquidations.render(coin, rendering, noMarket)
  const found = document.views['']
  if (found?.kind !== 'answer') throw new Error('there is an answer')
  const facts = { nowMs, executionMs: 0.1, coinsAvailable: 1 }
  return JSON.parse(fillDocument(document, found, facts).toString('utf8')) as Body
}

function at(seconds: number) {
  const timeMs = START_MS + seconds * 1_000
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
