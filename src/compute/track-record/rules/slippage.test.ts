import { describe, expect, test } from 'vitest'
import { NaiveSlippage } from '../../../../test/golden/naive-slippage.ts'
import { hasRecordedTrading, recordedTrading } from '../../../../test/support/recorded-trading.ts'
import type { CoinEvent } from '../../../domain/event.ts'
import { singleMarginTier } from '../../../domain/listing.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { newMarket } from '../../testing/new-market.ts'
import { recentBars } from '../recent-bars.ts'
import { slippageRule } from './slippage.ts'

const QUARTER_MS = 900_000
/** The recording is of 19:46:56 to 20:21:44. */
const EIGHT_MS = Date.UTC(2025, 8, 4, 20)
/** By our clock after the end of a bar. */
const MADE_AFTER_MS = 4_000
/** The recorder was away for 18 s, and the trades that the venue repeated do not reach back to the last one before. */
const BTC_GAP = { fromMs: 1_757_015_891_087, toMs: 1_757_015_893_170 }
const directions = [1, -1] as const
const sizes = [0, 1, 2, 3]

/** Claims about costs need trades and books, which no recorded candles hold. */
describe.skipIf(!hasRecordedTrading)(
  'slippage of recorded raw trades and books (needs ../shared/data)',
  () => {
    test.each(['BTC', 'SOL'])('of %s is claimed as by a second implementation', (coin) => {
      let compared = 0
      for (const atMs of [EIGHT_MS, EIGHT_MS + QUARTER_MS]) {
        const nowMs = atMs + MADE_AFTER_MS
        const log = received(coin).filter(({ timeReceivedMs }) => timeReceivedMs <= nowMs)
        const naive = new NaiveSlippage(log)
        for (let item = 0; item < 8; item += 1) {
          const found = slippageRule.make(momentOf(coin, log, atMs, nowMs), item)
          const expected = naive.claim(atMs, nowMs, item)
          expect(found === null, `${atMs} ${item}`).toBe(expected === null)
          if (found?.statement.form !== 'quantiles' || expected === null) continue
          expect(found.reference).toEqual(expected.reference)
          for (const [at, value] of expected.values.entries()) {
            expect(found.statement.values[at]).toBeCloseTo(value, 8)
            expect(found.statement.control[at]).toBeCloseTo(expected.control[at] ?? Number.NaN, 8)
          }
          compared += 1
        }
      }
      expect(compared).toBeGreaterThan(8)
    })

    test('has the outcomes of a second implementation, of each kind', () => {
      const kinds = new Set<string>()
      for (const coin of ['BTC', 'SOL']) {
        const log = received(coin)
        const naive = new NaiveSlippage(log)
        const moment = momentOf(coin, log, EIGHT_MS, EIGHT_MS)
        for (const madeAtMs of [-1, 0, 1].map((at) => EIGHT_MS + at * QUARTER_MS))
          for (const direction of directions)
            for (const size of sizes) {
              const claim = { ...claimOf(coin), madeAtMs, reference: [direction, size] }
              const outcome = slippageRule.outcome(claim, moment)
              const expected = naive.firstCost(madeAtMs, direction, size)
              kinds.add(typeof expected === 'number' ? 'value' : expected)
              expect(outcome, `${coin} ${madeAtMs} ${direction} ${size}`).toEqual(
                typeof expected === 'number'
                  ? { kind: 'value', value: expect.closeTo(expected, 8) }
                  : { kind: 'void', reason: expected },
              )
            }
      }
      expect([...kinds].sort()).toEqual(['gap', 'no_trade', 'value'])
    })
  },
)

function received(coin: string): readonly CoinEvent[] {
  const events = recordedTrading(coin)
  if (coin !== 'BTC') return events
  const at = events.findIndex(
    (event) => event.kind === 'trade' && event.timeExchangeMs >= BTC_GAP.toMs,
  )
  const { timeExchangeMs, timeReceivedMs } = events[at] as CoinEvent
  const times = { timeExchangeMs, timeReceivedMs }
  return events.toSpliced(at, 0, { kind: 'trade-gap', coin, ...BTC_GAP, ...times })
}

function momentOf(name: string, log: readonly CoinEvent[], atMs: number, nowMs: number) {
  const market = newMarket(new PulsePool(3))
  const margin = { maxLeverage: 20, marginTiers: singleMarginTier(20) }
  const listings = [{ coin: name, sizeDecimals: 5, isDelisted: false, ...margin }]
  market.apply({ kind: 'universe', listings, timeExchangeMs: 0, timeReceivedMs: 0 })
  for (const event of log) market.apply(event)
  const coin = market.coin(name)
  if (coin === undefined) throw new Error(`${name} is listed`)
  return { coin, market, dayBars: () => [], atMs, nowMs, bars: coin.of(recentBars) }
}

function claimOf(coin: string) {
  const statement = { form: 'rank', score: 0, control: 0 } as const
  return {
    ...{ rule: slippageRule.id, coin, coinClass: 'majors' as const },
    ...{ horizonMs: QUARTER_MS, statement },
  }
}
