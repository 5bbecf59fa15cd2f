import { beforeAll, describe, expect, test } from 'vitest'
import { chains } from '../../../domain/external.ts'
import type { MeasureMinute } from '../../../domain/history.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { block, chainPricesUsd, pool, rateEvents } from '../../testing/chain-tape.ts'
import { newMarket } from '../../testing/new-market.ts'
import { NOW_MS } from '../../testing/tape.ts'
import { arbMeasure } from './arb-measure.ts'
import { arbAssets } from './arb-model.ts'

const MINUTE_MS = 60_000
const START_MS = Math.ceil(NOW_MS / MINUTE_MS) * MINUTE_MS
const CALM_MINUTES = 1_450
const TAKEN_MINUTES = 50
const CALM_SIGMA_BPS = 2
const MINUTES = 30

type Market = {
  /** Normal noise of every price in every minute. */
  readonly sigmaBps: number
  readonly staleChains?: number
  /** So many chains stand 60 bps off. */
  readonly chainsOff?: number
}

/**
 * The index for markets of known noise, after a day of 2 bps: three assets, eight
 * chains, samples of a minute, fees of 5 bps and no impact. Ranges as in `docs/numbers/arb.md`.
 */
describe('after a calm day', () => {
  let saved: Float64Array
  const minutes: MeasureMinute[] = []
  beforeAll(() => {
    const market = newMarket(new PulsePool(3))
    // Whoever keeps the log comes for it now and then.
    for (let minute = 0; minute < CALM_MINUTES; minute += TAKEN_MINUTES) {
      const fromMs = START_MS - (CALM_MINUTES - minute) * MINUTE_MS
      run(market, fromMs, TAKEN_MINUTES, { sigmaBps: CALM_SIGMA_BPS })
      minutes.push(...market.log.take().minutes)
    }
    saved = market.of(arbMeasure).save()
  })

  test.each([
    { name: 'noise of 2 bps', market: { sigmaBps: 2 }, from: 13, to: 19 },
    { name: 'noise of 4 bps', market: { sigmaBps: 4 }, from: 27, to: 33 },
    { name: 'noise of 8 bps', market: { sigmaBps: 8 }, from: 37, to: 43 },
    {
      name: 'noise of 20 bps, a stale chain',
      market: { sigmaBps: 20, staleChains: 1 },
      from: 59,
      to: 65,
    },
    // The prototype said 63. Here components that stand on both sides of 0.5 count as unrelated.
    { name: 'three chains 60 bps off', market: { sigmaBps: 2, chainsOff: 3 }, from: 47, to: 63 },
    {
      name: 'noise of 60 bps, two stale chains',
      market: { sigmaBps: 60, staleChains: 2 },
      from: 76,
      to: 82,
    },
  ])('$name: an index of $from to $to', ({ market: conditions, from, to }) => {
    const market = newMarket(new PulsePool(3))
    market.of(arbMeasure).restore(saved)
    const at = { timeExchangeMs: START_MS, timeReceivedMs: START_MS }
    for (const { series, timeMs, value } of minutes)
      market.apply({ kind: 'measure-history', series, rows: [{ timeMs, value }], ...at })
    const mean = run(market, START_MS, MINUTES, conditions)
    expect(mean).toBeGreaterThanOrEqual(from)
    expect(mean).toBeLessThanOrEqual(to)
  })
})

/** @returns the mean of the index over all minutes */
function run(market: MarketState, fromMs: number, minutes: number, conditions: Market): number {
  const chance = chanceOf(fromMs)
  let sum = 0
  for (let minute = 0; minute < minutes; minute += 1) {
    const nowMs = fromMs + minute * MINUTE_MS
    for (const event of rateEvents(nowMs)) market.apply(event)
    const { sigmaBps, staleChains = 0, chainsOff = 0 } = conditions
    for (const [place, chain] of chains.slice(0, chains.length - staleChains).entries()) {
      market.apply(block(chain, nowMs))
      for (const asset of arbAssets) {
        const offBps = sigmaBps * normal(chance) + (place < chainsOff ? 60 : 0)
        const price = chainPricesUsd[asset] * Math.exp(offBps / 10_000)
        market.apply(pool(chain, asset, nowMs, { price, feeBps: 5, reserveQuote: 1e15 }))
      }
    }
    market.of(arbMeasure).advance(market, nowMs)
    sum += market.of(arbMeasure).latest?.stress?.index ?? Number.NaN
  }
  return sum / minutes
}

function normal(chance: () => number): number {
  const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - chance())), 2 * Math.PI * chance()]
  return radius * Math.cos(angle)
}

/** Numbers from 0 to below 1: a linear congruential generator (Numerical Recipes). */
function chanceOf(seed: number): () => number {
  let state = Math.imul(Math.floor(seed / MINUTE_MS), 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
