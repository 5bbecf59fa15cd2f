import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import type { ScenarioEvent } from '../scenario.ts'
import { stablecoinsLlama } from './stablecoins-llama.ts'

const START_MS = Date.UTC(2026, 9, 7, 15)
const HOUR_MS = 3_600_000

type Amount = { peggedUSD?: number }
type Row = {
  id: string
  symbol: string
  price?: number | null
  circulating: Amount
  circulatingPrevDay: Amount
  circulatingPrevWeek: Amount
}

function begin(scenario: readonly ScenarioEvent[] = []) {
  const clock = new ManualClock(START_MS)
  const market = seededMarket({ seed: 5, startMs: START_MS })
  const reference = new ReferencePrices({ market, seed: 5, scenario })
  const upstream = stablecoinsLlama(reference, clock)
  const usdc = (query = 'includePrices=true'): Row => {
    const request = { method: 'GET', path: '/stablecoins', headers: {}, body: '' }
    const reply = upstream.request?.({ ...request, query: new URLSearchParams(query) })
    if (reply === null || reply === undefined || !('body' in reply)) throw new Error('an answer')
    const { peggedAssets }: { peggedAssets: Row[] } = JSON.parse(reply.body)
    const row = peggedAssets.find(({ id }) => id === '2')
    if (row === undefined) throw new Error('USDC is listed')
    return row
  }
  return { clock, usdc }
}

const depeg = (bps: number): ScenarioEvent => ({
  kind: 'depeg',
  asset: 'USDC',
  bps,
  fromMs: START_MS,
  untilMs: START_MS + 24 * HOUR_MS,
})

describe('the simulated supply', () => {
  test('hardly moves while nothing happens', () => {
    const { circulating, circulatingPrevDay, circulatingPrevWeek, price } = begin().usdc()
    const now = circulating.peggedUSD ?? 0
    expect(now).toBeGreaterThan(70e9)
    expect((circulatingPrevDay.peggedUSD ?? 0) / now).toBeCloseTo(1, 1)
    expect(Math.abs((circulatingPrevWeek.peggedUSD ?? 0) / now - 1)).toBeLessThan(0.013)
    expect(price).toBeCloseTo(1, 2)
  })

  test('falls while the peg is broken, and stays where it fell to', () => {
    const calm = begin()
    const broken = begin([depeg(-1_000)])
    const ratioAfter = (hours: number) => {
      for (const { clock } of [calm, broken]) clock.advance(hours * HOUR_MS)
      return (broken.usdc().circulating.peggedUSD ?? 0) / (calm.usdc().circulating.peggedUSD ?? 1)
    }
    expect(ratioAfter(0)).toBe(1)
    expect(ratioAfter(12)).toBeCloseTo(Math.exp(-0.03), 9)
    expect(ratioAfter(12)).toBeCloseTo(Math.exp(-0.06), 9)
    expect(ratioAfter(48)).toBeCloseTo(Math.exp(-0.06), 9)
  })

  test('has a price only where one is asked for', () => {
    expect(begin().usdc('')).not.toHaveProperty('price')
  })
})
