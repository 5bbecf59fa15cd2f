import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import { viewOf } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import type { FundingRow } from '../../domain/history.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import { Processor } from '../processor.ts'
import { BOUNDARY_MS, context, history, NOW_MS, universe, wave } from '../testing/tape.ts'
import { overview } from './overview.ts'
import { OverviewAnswer } from './overview-schema.ts'
import { naiveHours } from './testing/naive-hours.ts'

type Overview = Static<typeof OverviewAnswer>

const HOUR_MS = timeframeMs['1h']
const COINS = ['BTC', 'SOL', 'kPEPE', 'NEW']
const quarters = wave('15m', 1_344)
const hours = naiveHours(quarters)

describe('/overview', () => {
  test('has every coin in the order of the venue, with its sector', () => {
    const { coins } = overviewOf(market())
    expect(coins.map(({ coin, sector }) => [coin, sector])).toEqual([
      ['BTC', null],
      ['SOL', 'L1'],
      ['kPEPE', 'Meme'],
      ['NEW', null],
    ])
  })

  test('has the closes of the last 24 closed hours, null where one is unknown', () => {
    const { coins, closes_from_ms } = overviewOf(market())
    expect(closes_from_ms).toBe(BOUNDARY_MS - 24 * HOUR_MS)
    const last = hours.slice(-24).map(({ close }) => Number(close.toPrecision(8)))
    expect(coins.map(({ closes }) => closes)).toEqual([
      last,
      last,
      // Its last history ends two hours before that of the others.
      [...last.slice(0, -2), null, null],
      Array.from(last, () => null),
    ])
  })

  test('has the settled funding of the last 72 hours in basis points, and no estimate', () => {
    const { coins, funding_from_ms } = overviewOf(market())
    expect(funding_from_ms).toBe(BOUNDARY_MS - 71 * HOUR_MS)
    const [btc, sol, pepe, young] = coins.map(({ funding_bps }) => funding_bps)
    expect(btc).toEqual(Array.from({ length: 72 }, (_, at) => (at - 71) / 100))
    expect(sol?.slice(-3), 'an hour is missing').toEqual([-0.02, null, 0])
    expect(pepe?.slice(-3), 'the newest hour is an estimate').toEqual([-0.02, -0.01, null])
    expect(young).toEqual(Array.from({ length: 72 }, () => null))
  })

  test('satisfies its schema, also without funding', () => {
    const unfunded = market().map((batch) => batch.filter(({ kind }) => kind !== 'funding-history'))
    for (const tape of [market(), unfunded]) {
      const answer = overviewOf(tape)
      expect([...Compile(OverviewAnswer).Errors(answer)]).toEqual([])
      for (const { closes, funding_bps } of answer.coins)
        expect([closes.length, funding_bps.length]).toEqual([24, 72])
    }
    expect(overviewOf(unfunded).funding_from_ms).toBeNull()
  })

  test('states the share of coins with current candles, and the age of each input', () => {
    const { meta } = overviewOf(market())
    expect(meta).toMatchObject({ data_age_seconds: 0, quality: { grade: 'C', coverage_pct: 50 } })
    expect(meta.warnings).toEqual(['low_coverage'])
    expect(Object.keys(meta.as_of)).toEqual(['candles_1h', 'funding'])
  })

  test.each([
    { market: 'without a coin', tape: [[universe([])]] },
    { market: 'of coins of which nothing is known', tape: [[universe(COINS)]] },
  ])('has a reason and no answer in a market $market', ({ tape }) => {
    const { gathered, rendering } = processorOf(tape).gather('overview', NOW_MS)
    expect(overview.render(gathered as never, rendering).views).toEqual({
      '': { kind: 'missing-input', input: 'candles_1h' },
    })
  })

  test('gives the same bytes in another thread, and however the events were batched', () => {
    const { gathered, rendering } = processorOf(market()).gather('overview', NOW_MS)
    const document = overview.render(gathered as never, rendering)
    expect(overview.render(structuredClone(gathered) as never, rendering)).toEqual(document)
    const single = market()
      .flat()
      .map((event) => [event])
    const again = processorOf(single).gather('overview', NOW_MS)
    expect(overview.render(again.gathered as never, again.rendering)).toEqual(document)
  })
})

function market(): readonly Batch[] {
  const [four, fifteen] = [wave('4h', 1_200), quarters]
  return [
    [universe(COINS)],
    COINS.filter((coin) => coin !== 'NEW').flatMap((coin) => [
      context(coin),
      history(coin, '4h', four),
      // Of kPEPE the reply is two hours behind, so its last hours are unknown.
      coin === 'kPEPE'
        ? ({
            ...history(coin, '15m', fifteen.slice(0, -8)),
            ...at(BOUNDARY_MS - 2 * HOUR_MS + 5_000),
          } as MarketEvent)
        : history(coin, '15m', fifteen),
    ]),
    [
      funding('BTC', settled(100)),
      funding('SOL', settled(100).toSpliced(-2, 1)),
      funding(
        'kPEPE',
        settled(100).map((row) => ({ ...row, isSettled: row.timeMs < BOUNDARY_MS })),
      ),
    ],
  ]
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}

function funding(coin: string, rows: readonly Omit<FundingRow, 'coin'>[]): MarketEvent {
  return {
    kind: 'funding-history',
    coin,
    rows: rows.map((row) => ({ ...row, coin })),
    ...at(NOW_MS),
  }
}

/** 0 at the boundary, and one hundredth of a basis point less in each hour before. */
function settled(count: number): Omit<FundingRow, 'coin'>[] {
  return Array.from({ length: count }, (_, at) => ({
    timeMs: BOUNDARY_MS - (count - 1 - at) * HOUR_MS,
    rateHourly: (at - count + 1) * 1e-6,
    premium: 0,
    isSettled: true,
  }))
}

function processorOf(tape: readonly Batch[]): Processor {
  const processor = new Processor({ coin: [], market: [overview as never] }, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return processor
}

function overviewOf(tape: readonly Batch[]): Overview {
  const { gathered, rendering } = processorOf(tape).gather('overview', NOW_MS)
  const document = overview.render(gathered as never, rendering)
  const answer = viewOf(document, '')
  if (answer?.kind !== 'answer') throw new Error('the overview has no answer')
  const facts = { nowMs: NOW_MS, executionMs: 0, coinsAvailable: 1 }
  return JSON.parse(fillDocument(document, answer, facts).toString('utf8'))
}
