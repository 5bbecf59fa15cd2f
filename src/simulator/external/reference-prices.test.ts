import { describe, expect, test } from 'vitest'
import { seededMarket } from '../market/seeded-market.ts'
import { noiseBps, ReferencePrices } from './reference-prices.ts'
import type { ScenarioEvent } from './scenario.ts'

const START_MS = Date.UTC(2026, 5, 1)
const MINUTE_MS = 60_000
const market = seededMarket({ seed: 3, startMs: START_MS })
const during = { fromMs: START_MS + MINUTE_MS, untilMs: START_MS + 2 * MINUTE_MS }
const BEFORE_MS = during.fromMs - 1
const WHILE_MS = during.fromMs + 10_000

function worldOf(...scenario: ScenarioEvent[]): ReferencePrices {
  return new ReferencePrices({ market, seed: 3, scenario })
}

function differenceBps(one: number | undefined, other: number | undefined): number {
  return 1e4 * Math.log((one ?? Number.NaN) / (other ?? Number.NaN))
}

describe('the simulated reference', () => {
  test('is the same for everybody who asks, in any order', () => {
    const [one, other] = [worldOf(), worldOf()]
    const instants = [5, 3, 9].map((minute) => START_MS + minute * MINUTE_MS)
    const seen = (reference: ReferencePrices, times: readonly number[]) =>
      new Map(times.map((atMs) => [atMs, reference.seenUsd('okx', 'ETH', atMs)]))
    expect(seen(one, instants)).toEqual(seen(other, instants.toReversed()))
  })

  test('an asset is worth what the venue says of its coin, scale and USDT taken out', () => {
    const reference = worldOf()
    const oracle = market.context('kPEPE', WHILE_MS)?.oraclePrice ?? Number.NaN
    const usdt = reference.priceUsd('USDT', WHILE_MS) ?? Number.NaN
    expect(reference.priceUsd('PEPE', WHILE_MS)).toBeCloseTo((oracle / 1_000) * usdt, 12)
  })

  test('knows no price of what does not trade', () => {
    expect(worldOf().priceUsd('NOTHING', WHILE_MS)).toBeUndefined()
    expect(worldOf().assets).not.toContain('MATIC')
  })

  test('every observer is as far off as its kind of noise says', () => {
    const reference = worldOf()
    const errors = Array.from({ length: 2_000 }, (_, second) => {
      const atMs = START_MS + second * 1_000
      return differenceBps(
        reference.seenUsd('kraken', 'BTC', atMs),
        reference.priceUsd('BTC', atMs),
      )
    })
    const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length)
    expect(deviation).toBeGreaterThan(0.9 * noiseBps.exchange)
    expect(deviation).toBeLessThan(1.1 * noiseBps.exchange)
  })

  test.each([
    ['depeg', { kind: 'depeg', asset: 'USDC', bps: -80, ...during }, 'USDC', -80],
    ['basis', { kind: 'basis', asset: 'ETH', bps: 30, ...during }, 'ETH', -30],
  ] as const)('a %s moves what the asset is worth while it lasts', (_, event, asset, bps) => {
    const [calm, moved] = [worldOf(), worldOf(event)]
    const change = (atMs: number) =>
      differenceBps(moved.priceUsd(asset, atMs), calm.priceUsd(asset, atMs))
    expect(change(BEFORE_MS)).toBeCloseTo(0, 9)
    expect(change(WHILE_MS)).toBeCloseTo(bps, 0)
    expect(change(during.untilMs)).toBeCloseTo(0, 9)
  })

  test('a gap is seen on its chain alone', () => {
    const gap = { kind: 'gap', chain: 'base', asset: 'ETH', bps: 40, ...during } as const
    const [calm, moved] = [worldOf(), worldOf(gap)]
    const change = (chain: 'base' | 'polygon') =>
      differenceBps(
        moved.seenOnChainUsd(chain, 'ETH', WHILE_MS),
        calm.seenOnChainUsd(chain, 'ETH', WHILE_MS),
      )
    expect(change('base')).toBeCloseTo(40, 9)
    expect(change('polygon')).toBe(0)
  })

  test('an offset of one source does not change other sources', () => {
    const [calm, moved] = [
      worldOf(),
      worldOf({ kind: 'offset', source: 'redstone', bps: 500, ...during }),
    ]
    const change = (source: 'redstone' | 'pyth-hermes') =>
      differenceBps(moved.seenUsd(source, 'BTC', WHILE_MS), calm.seenUsd(source, 'BTC', WHILE_MS))
    expect(change('redstone')).toBeCloseTo(488, 0)
    expect(change('pyth-hermes')).toBe(0)
  })

  test('a frozen source repeats its price', () => {
    const reference = worldOf({ kind: 'frozen', source: 'okx', ...during })
    const first = reference.seenUsd('okx', 'BTC', during.fromMs)
    expect(reference.seenUsd('okx', 'BTC', during.untilMs - 1)).toBe(first)
    expect(reference.seenUsd('okx', 'BTC', during.untilMs)).not.toBe(first)
  })

  test('a halted source repeats its price and the time of it', () => {
    const reference = worldOf({ kind: 'halted', source: 'okx', ...during })
    expect(reference.newestMs('okx', WHILE_MS)).toBe(during.fromMs)
    const before = reference.seenUsd('okx', 'BTC', during.fromMs)
    expect(reference.seenUsd('okx', 'BTC', WHILE_MS)).toBe(before)
    expect(reference.isStalled('okx', WHILE_MS)).toBe(false)
  })

  test('a stalled source knows nothing newer than when that began', () => {
    const reference = worldOf({ kind: 'stalled', source: 'solana', ...during })
    expect(reference.newestMs('solana', WHILE_MS)).toBe(during.fromMs)
    expect(reference.newestMs('solana', during.untilMs)).toBe(during.untilMs)
    expect(reference.isStalled('solana', WHILE_MS)).toBe(true)
    expect(reference.isDead('solana', WHILE_MS)).toBe(false)
  })
})
