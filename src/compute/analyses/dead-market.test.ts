import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import type { Bar } from '../../domain/bar.ts'
import type { Document } from '../../domain/document.ts'
import { viewOf } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { externalEvents } from '../testing/external-events.ts'
import { randomMarket } from '../testing/random-market.ts'
import { NOW_MS } from '../testing/tape.ts'
import { analyses, contracts } from './registry.ts'

const DEAD = 'DEAD'
const PRICE = 3
const BASELINE_RATE = 0.0000125
/** Of 15m; three days of them are 72 bars of 1h and 18 of 4h. */
const STILL_QUARTERS = 400

/** A coin of which nothing happens, beside three of which something does. */
describe.each([
  { what: 'never moved and never traded', bars: (bars: readonly Bar[]) => bars.map(still(0)) },
  // Fills at one price alone: volume, and nothing else.
  { what: 'trades at one price', bars: (bars: readonly Bar[]) => bars.map(still(7)) },
  { what: 'fell, and then was not traded any more', bars: fallen },
])('a coin that $what', ({ bars }) => {
  const answers = answersOn(bars)

  test('has neutral RSI zone and neutral candle signals', () => {
    const { timeframes, confluence } = answers.get(`pulse/${DEAD}`) as {
      timeframes: Record<string, { indicators: { rsi_zone: string } }>
      confluence: { signals: Record<string, string> }
    }
    expect(timeframes['1h']?.indicators.rsi_zone).toBe('neutral')
    expect(new Set(Object.values(confluence.signals))).toEqual(new Set(['neutral']))
  })

  test('is in no list of the screener', () => {
    const { coins, top } = answers.get('screener/*') as {
      coins: { coin: string; rsi_zone: string; signal_strength: number; confluence_bias: string }[]
      top: Record<string, string[]>
    }
    const row = coins.find(({ coin }) => coin === DEAD)
    expect(row).toMatchObject({ rsi_zone: 'neutral', confluence_bias: 'neutral' })
    const { bullish, bearish, crowded_long, crowded_short } = top
    expect([bullish, bearish, crowded_long, crowded_short].flat()).not.toContain(DEAD)
  })

  test('is not crowded at the baseline rate', () => {
    expect(answers.get(`funding/${DEAD}`)).toMatchObject({
      funding: { bias: 'NEUTRAL', crowding: 'LOW', zscore: null, percentile: 50, trend: 'FLAT' },
    })
  })

  test('has no label from open interest', () => {
    // Of nothing there is no change in percent, so there is nothing to sell.
    expect(answers.get(`oi/${DEAD}`)).toMatchObject({ kind: 'low-coverage' })
    expect(answers.get(`liquidations/${DEAD}`)).toMatchObject({
      long_short_ratio: 1,
      cascade_risk: { level: 'LOW' },
    })
  })

  test('has no correlation with moving coins', () => {
    const { correlations, stats } = answers.get('correlation/*') as {
      correlations: object
      stats: object
    }
    expect(Object.keys(correlations)).toContain('ETH')
    if (bars !== fallen) expect({ ...correlations, ...stats }).not.toHaveProperty(DEAD)
  })
})

test('a coin that never moved has no signal strength at all', () => {
  const { coins } = answersOn((bars) => bars.map(still(0))).get('screener/*') as {
    coins: { coin: string; signal_strength: number }[]
  }
  expect(coins.find(({ coin }) => coin === DEAD)?.signal_strength).toBe(0)
})

function still(volumeBase: number): (bar: Bar) => Bar {
  const level = { open: PRICE, high: PRICE, low: PRICE, close: PRICE }
  return (bar) => ({ ...bar, ...level, volumeBase })
}

/** Every bar lower than the one before, until the price stands still without volume. */
function fallen(bars: readonly Bar[]): readonly Bar[] {
  const stepMs = (bars[1]?.openTimeMs ?? 0) - (bars[0]?.openTimeMs ?? 0)
  const endMs = (bars.at(-1)?.openTimeMs ?? 0) + stepMs
  const stillFromMs = endMs - STILL_QUARTERS * 900_000
  return bars.map((bar) => {
    const isStill = bar.openTimeMs >= stillFromMs
    const level = isStill ? PRICE : PRICE * (1 + (stillFromMs - bar.openTimeMs) * 1e-10)
    const close = isStill ? PRICE : level - PRICE * stepMs * 1e-10
    return { ...bar, open: level, high: level, low: close, close, volumeBase: isStill ? 0 : 5 }
  })
}

/** By document key: the answer in its default view, or why there is none. */
function answersOn(barsOf: (bars: readonly Bar[]) => readonly Bar[]): Map<string, unknown> {
  const processor = new Processor(analyses, '0.0.0')
  for (const batch of marketWith(barsOf)) processor.process(batch)
  processor.process(externalEvents(DEAD, PRICE, NOW_MS))
  const answers = new Map<string, unknown>()
  // Several turns: correlations are summed a few rows in each.
  for (let phase = 0; phase < 5 * PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(NOW_MS)) keep(answers, document)
  for (const analysis of analyses.market) {
    const { gathered, rendering } = processor.gather(analysis.contract.id, NOW_MS)
    keep(answers, analysis.render(gathered, rendering))
  }
  return answers
}

function keep(answers: Map<string, unknown>, document: Document): void {
  const contract = contracts.find(({ id }) => document.key.startsWith(`${id}/`))
  const view = viewOf(document, contract?.defaultView ?? '')
  const facts = { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 4 }
  answers.set(
    document.key,
    view?.kind === 'answer'
      ? JSON.parse(fillDocument(document, view, facts).toString('utf8'))
      : view,
  )
}

function marketWith(barsOf: (bars: readonly Bar[]) => readonly Bar[]): Batch[] {
  return randomMarket(['BTC', 'ETH', 'SOL', DEAD], 1).map((batch) =>
    batch.map((event): MarketEvent => {
      if (!('coin' in event) || event.coin !== DEAD) return event
      switch (event.kind) {
        case 'context':
          return {
            ...event,
            markPrice: PRICE,
            midPrice: PRICE,
            oraclePrice: PRICE,
            prevDayPrice: PRICE,
            impactBid: null,
            impactAsk: null,
            fundingRateHourly: BASELINE_RATE,
            openInterestBase: 0,
            dayNotional: 0,
          }
        case 'history':
          return { ...event, bars: barsOf(event.bars) }
        case 'funding-history':
          return {
            ...event,
            rows: event.rows.map((row) => ({ ...row, rateHourly: BASELINE_RATE })),
          }
        case 'sample-history': {
          const nothing = { markPrice: PRICE, oraclePrice: PRICE, openInterestBase: 0 }
          return { ...event, samples: event.samples.map((each) => ({ ...each, ...nothing })) }
        }
        case 'book':
          return {
            ...event,
            bids: [{ price: 0.9999 * PRICE, sizeBase: 10 }],
            asks: [{ price: 1.0001 * PRICE, sizeBase: 10 }],
          }
        default:
          return event
      }
    }),
  )
}
