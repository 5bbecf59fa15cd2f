import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { impliedRateHourly } from '../../domain/funding-rate.ts'
import * as simulated from '../../simulator/market/funding.ts'
import { context } from '../testing/tape.ts'
import { dexKindOf, fundingPremium } from './premium.ts'

const FRAME = join(
  import.meta.dirname,
  '../../../../shared/data/hl-api-fixtures/nautilus/ws_all_dexs_asset_ctxs.json',
)
/** The venue prints ten decimals. */
const PRINTED = 0.5e-10 * 1.001

const price = fc.double({ min: 0.01, max: 1e5, noNaN: true })
const prices = fc.record({ impactBid: price, impactAsk: price, oraclePrice: price })

describe('premium', () => {
  test.runIf(existsSync(FRAME)).each([
    { dexKind: 'main', rows: 179 },
    { dexKind: 'builder', rows: 155 },
  ] as const)(
    "equals the venue's value for all $rows live coins of a recorded frame, $dexKind dex (needs ../shared/data)",
    ({ dexKind, rows }) => {
      const live = recordedContexts(dexKind === 'builder').filter(({ premium }) => premium !== null)
      expect(live).toHaveLength(rows)
      for (const recorded of live) {
        const premium = fundingPremium(contextOf(recorded), dexKind)
        expect(Math.abs((premium ?? Number.NaN) - Number(recorded.premium))).toBeLessThan(PRINTED)
      }
    },
  )

  test.runIf(existsSync(FRAME))(
    "gives rates in the order of the venue's rates (needs ../shared/data)",
    () => {
      const live = recordedContexts(false).filter(({ premium }) => premium !== null)
      const pairs = live.map((recorded) => ({
        told: Number(recorded.funding),
        implied: impliedRateHourly(fundingPremium(contextOf(recorded), 'main') ?? Number.NaN),
      }))
      // Of one instant against the average of the hour: not the same, but rarely the other way round.
      let [agree, differ] = [0, 0]
      for (const [at, one] of pairs.entries())
        for (const other of pairs.slice(at + 1)) {
          const order = Math.sign(one.told - other.told) * Math.sign(one.implied - other.implied)
          if (order > 0) agree += 1
          if (order < 0) differ += 1
        }
      expect(agree / (agree + differ)).toBeGreaterThan(0.75)
    },
  )

  property.prop([prices])('is that of the simulated venue, of both kinds', (figures) => {
    const { impactBid, impactAsk, oraclePrice } = figures
    const of = context('BTC', figures)
    expect(fundingPremium(of, 'main')).toBe(simulated.premiumOf(impactBid, impactAsk, oraclePrice))
    expect(fundingPremium(of, 'builder')).toBe(
      simulated.builderPremiumOf(impactBid, impactAsk, oraclePrice),
    )
  })

  test('is 0 on the main dex while the oracle is between the impact prices', () => {
    const inside = context('BTC', { impactBid: 99, oraclePrice: 100, impactAsk: 103 })
    expect(fundingPremium(inside, 'main')).toBe(0)
    expect(fundingPremium(inside, 'builder')).toBeCloseTo(0.01, 15)
  })

  test.each([{ impactBid: null }, { impactAsk: null }])('is not known with %o', (changes) => {
    for (const dexKind of ['main', 'builder'] as const)
      expect(fundingPremium(context('BTC', changes), dexKind)).toBeNull()
  })

  test.each([
    ['BTC', 'main'],
    ['kPEPE', 'main'],
    ['xyz:GOLD', 'builder'],
  ])('%s is of the %s dex', (coin, dexKind) => {
    expect(dexKindOf(coin)).toBe(dexKind)
  })
})

type RecordedContext = {
  readonly premium: string | null
  readonly oraclePx: string
  readonly impactPxs: readonly [string, string] | null
  readonly funding: string
}

function recordedContexts(isBuilder: boolean): RecordedContext[] {
  const { data } = JSON.parse(readFileSync(FRAME, 'utf8')) as {
    data: { ctxs: [string, RecordedContext[]][] }
  }
  return data.ctxs.filter(([dex]) => (dex !== '') === isBuilder).flatMap(([, contexts]) => contexts)
}

function contextOf({ oraclePx, impactPxs }: RecordedContext) {
  const [bid, ask] = impactPxs ?? []
  return context('BTC', {
    oraclePrice: Number(oraclePx),
    impactBid: Number(bid),
    impactAsk: Number(ask),
  })
}
