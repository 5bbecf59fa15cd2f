import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import type { ScenarioEvent } from '../scenario.ts'
import { redstoneGateway } from './redstone-gateway.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7, 33, 200)
const PATH = '/v2/data-packages/latest/redstone-primary-prod'

type Package = {
  timestampMilliseconds: number
  dataPackageId: string
  signerAddress: string
  signature: string
  dataPoints: { dataFeedId: string; value: number }[]
}

function begin(scenario: readonly ScenarioEvent[] = []) {
  const clock = new ManualClock(START_MS)
  const market = seededMarket({ seed: 5, startMs: START_MS })
  const reference = new ReferencePrices({ market, seed: 5, scenario })
  const upstream = redstoneGateway(reference, clock)
  const get = (path = PATH): Record<string, Package[]> => {
    const query = new URLSearchParams()
    const reply = upstream.request?.({ method: 'GET', path, query, headers: {}, body: '' })
    if (reply === null || reply === undefined || !('body' in reply)) throw new Error('an answer')
    return JSON.parse(reply.body)
  }
  return { clock, reference, get }
}

describe('the simulated gateway', () => {
  test('has five nodes sign every feed at the same ten seconds, close to what it believes', () => {
    const { reference, get } = begin()
    const packages = get()
    const timeMs = Math.floor(START_MS / 10_000) * 10_000
    for (const asset of reference.assets) {
      const seen = reference.seenUsd('redstone', asset, timeMs) ?? Number.NaN
      const signed = packages[asset] ?? []
      expect(new Set(signed.map(({ signerAddress }) => signerAddress)).size).toBe(5)
      expect(new Set(signed.map(({ signature }) => signature)).size).toBe(5)
      for (const { timestampMilliseconds, dataPackageId, dataPoints } of signed) {
        expect([timestampMilliseconds, dataPackageId]).toEqual([timeMs, asset])
        expect(dataPoints).toHaveLength(1)
        expect(Math.abs((dataPoints[0]?.value ?? 0) / seen - 1)).toBeLessThan(5e-4)
      }
    }
    expect(packages['___ALL_FEEDS___']?.[0]?.dataPoints.length).toBeGreaterThan(1)
  })

  test('has the nodes stand further apart while the network is unsure', () => {
    const spread = (packages: Record<string, Package[]>) => {
      const values = (packages['BTC'] ?? []).map(({ dataPoints }) => dataPoints[0]?.value ?? 0)
      return Math.max(...values) - Math.min(...values)
    }
    const during = { fromMs: START_MS - 60_000, untilMs: START_MS + 60_000 }
    const unsure = begin([{ kind: 'confidence', network: 'redstone', factor: 20, ...during }])
    expect(spread(unsure.get()) / spread(begin().get())).toBeCloseTo(20, 3)
  })

  test('signs nothing new while it is stalled', () => {
    const stalled = { kind: 'stalled', source: 'redstone' } as const
    const { clock, get } = begin([{ ...stalled, fromMs: START_MS, untilMs: START_MS + 600_000 }])
    clock.advance(300_000)
    expect(get()['BTC']?.[0]?.timestampMilliseconds).toBe(Math.floor(START_MS / 10_000) * 10_000)
  })

  test('knows no other path', () => {
    expect(begin().get('/v2/data-packages/latest/other')).toEqual({
      statusCode: 404,
      message: 'Not Found',
    })
  })
})
