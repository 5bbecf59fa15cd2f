import { describe, expect, test } from 'vitest'
import { Session } from '../src/compute/testing/session.ts'
import { NOW_MS, wave } from '../src/compute/testing/tape.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { Json } from './support/answers.ts'
import { AnsweringEngine } from './support/answers.ts'

const SESSION_MS = 6 * 60_000
/** A time long after the last frame. */
const END_MS = NOW_MS + SESSION_MS + 1_000
const TIERS = ['3x', '5x', '10x', '25x', '50x']
const labels = ['bullish', 'bearish', 'neutral']

/** Every field that the specification shows (2.3, 2.4), with its type and its values. */
describe('the specified fields', () => {
  const answers = liveAnswers()

  test('of /pulse are all there', () => {
    const answer = answers.get('pulse')
    expect(answer).toMatchObject({
      coin: 'BTC',
      timestamp_iso: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
      price: { current: expect.any(Number) },
      derivatives: {
        funding_rate: expect.any(Number),
        funding_annualized_pct: expect.any(Number),
        open_interest: expect.any(Number),
        impact_bid: expect.any(Number),
        impact_ask: expect.any(Number),
        spread_bps: expect.any(Number),
      },
      regime: { current: expect.stringMatching(/^[A-Z_]+$/), as_of: expect.any(Number) },
      confluence: {
        score: expect.any(Number),
        bias: expect.toBeOneOf(labels),
        bullish_count: expect.any(Number),
        bearish_count: expect.any(Number),
      },
      meta: {
        provider: expect.any(String),
        offering: 'service_pulse',
        execution_ms: expect.any(Number),
        coins_available: expect.any(Number),
        data_age_seconds: expect.any(Number),
      },
    })
    for (const signal of ['rsi', 'trend', 'bollinger', 'zscore'])
      expect(answer.confluence.signals[signal]).toBeOneOf(labels)
    expect(answer.meta, 'fresh data is not called stale').not.toHaveProperty('warning')
    expect(Number.isInteger(answer.regime.as_of), 'Unix seconds').toBe(true)
  })

  test.each(['1h', '4h'])('of each timeframe of /pulse are all there: %s', (timeframe) => {
    const answer = answers.get('pulse').timeframes[timeframe]
    expect(answer).toMatchObject({
      candle_freshness_seconds: expect.any(Number),
      indicators: {
        rsi_14: expect.any(Number),
        rsi_zone: expect.toBeOneOf(['overbought', 'bullish', 'neutral', 'bearish', 'oversold']),
        atr_14: expect.any(Number),
        atr_pct: expect.any(Number),
        ema_20: expect.any(Number),
        ema_50: expect.any(Number),
        ema_200: expect.any(Number),
        vwap_20: expect.any(Number),
        zscore_100: expect.any(Number),
        bollinger: {
          upper: expect.any(Number),
          middle: expect.any(Number),
          lower: expect.any(Number),
          width_pct: expect.any(Number),
          position_pct: expect.any(Number),
        },
        trend: {
          direction: expect.toBeOneOf([1, 0, -1]),
          label: expect.toBeOneOf(labels),
          ema_stack: expect.toBeOneOf(['bull_aligned', 'bear_aligned', 'mixed', 'flat']),
        },
      },
    })
    expect(answer.candle_freshness_seconds).toBeGreaterThanOrEqual(0)
  })

  test('of /liquidations are all there', () => {
    const answer = answers.get('liquidations')
    expect(answer).toMatchObject({
      coin: 'BTC',
      timestamp_iso: expect.any(String),
      price: expect.any(Number),
      cascade_risk: {
        score: expect.any(Number),
        level: expect.toBeOneOf(['LOW', 'MODERATE', 'HIGH', 'EXTREME']),
        nearest_cluster: {
          side: expect.toBeOneOf(['long', 'short']),
          price: expect.any(Number),
          distance_pct: expect.any(Number),
        },
      },
      long_short_ratio: expect.any(Number),
      meta: {
        provider: expect.any(String),
        offering: 'service_liquidations',
        execution_ms: expect.any(Number),
      },
    })
    for (const zones of [answer.zones.longs, answer.zones.shorts]) {
      expect(zones.map(({ leverage }: Json) => leverage).toSorted()).toEqual(TIERS.toSorted())
      for (const zone of zones)
        expect(zone).toMatchObject({
          price: expect.any(Number),
          estimated_notional: expect.any(Number),
        })
    }
  })

  test('of where numbers come from are in every answer', () => {
    for (const [id, { meta }] of answers) {
      expect(meta, id).toMatchObject({
        provider: 'perpscope',
        offering: `service_${id.replace('-', '_')}`,
        quality: {
          grade: expect.toBeOneOf(['A', 'B', 'C', 'D']),
          coverage_pct: expect.any(Number),
          reasons: meta.warnings,
        },
        answer_id: expect.stringMatching(/^ans_/),
        snapshot_id: expect.stringMatching(/^snp_/),
        engine_version: '1.2.3',
      })
      expect(meta.sources.length, id).toBeGreaterThan(0)
      const instants = Object.values<string>(meta.as_of).map(Date.parse)
      expect(instants.length, id).toBeGreaterThan(0)
      // No answer is better than the oldest of what it rests on, nor than its own word about it.
      expect(meta.data_age_seconds * 1_000, id).toBeLessThanOrEqual(
        Math.max(...instants.map((ms) => END_MS - ms)) + 1,
      )
      expect(Date.parse(meta.valid_until_iso), id).toBeGreaterThan(Math.min(...instants))
    }
  })
})

function liveAnswers(): ReadonlyMap<string, Json> {
  const session = new Session('BTC', NOW_MS, 3)
  const engine = new AnsweringEngine().hear(session.warm()).hear([[deepHours()]])
  return engine.hear(session.run(SESSION_MS)).answers('BTC', END_MS)
}

/** Hours enough for EMA 200, the last of them as the quarters of the session end. */
function deepHours(): MarketEvent {
  const [quarter] = wave('15m', 1_344).slice(-1)
  const bars = wave('1h', 1_344)
  const last = bars.pop()
  if (quarter === undefined || last === undefined) throw new Error('there are bars')
  const { close } = quarter
  bars.push({
    ...last,
    ...{ high: Math.max(last.high, close), low: Math.min(last.low, close), close },
  })
  const times = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  return { kind: 'hourly-history', coin: 'BTC', bars, fromMs: bars[0]?.openTimeMs ?? 0, ...times }
}
