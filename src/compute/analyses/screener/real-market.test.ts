import { describe, expect, test } from 'vitest'
import { naiveScreener } from '../../../../test/golden/naive-screener.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Bar } from '../../../domain/bar.ts'
import type { Batch } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { Processor } from '../../processor.ts'
import { hasSharedCandles, sharedBars } from '../../testing/bars.ts'
import {
  BOUNDARY_MS,
  book,
  context,
  fundingHistory,
  history,
  NOW_MS,
  universe,
} from '../../testing/tape.ts'
import { screener } from './screener.ts'
import type { ScreenerColumns } from './screener-columns.ts'

/** Liquid ones, memes in thousands, one that was listed for two weeks. */
const COINS = 'BTC ETH SOL HYPE XRP DOGE kPEPE kBONK SUI FARTCOIN LINK AVAX WIF PUMP'.split(' ')
const QUARTERS_PER_DAY = 96

describe.skipIf(!hasSharedCandles)('screener over real candles (needs ../shared/data)', () => {
  test('equals the figures computed from the bars by hand', () => {
    const tape: Batch[] = [[universe(COINS)], ...COINS.map(realCoin)]
    const { coins, skipped } = read(tape)
    expect(skipped, '97 bars of 4h').toEqual([{ coin: 'PUMP', reason: 'insufficient_candles' }])
    expect(coins).toHaveLength(COINS.length - 1)
    const known = [universe(COINS.filter((coin) => coin !== 'PUMP')), ...tape.slice(1).flat()]
    const naive = naiveScreener(known)
    for (const row of coins) {
      const expected = naive.rows.get(row.coin)
      if (expected === undefined) throw new Error(`${row.coin} is no coin of ours`)
      for (const name of ['signal_strength', 'rsi_14', 'change_24h_pct'] as const)
        expect(row[name], `${name} of ${row.coin}`).toBeCloseTo(
          expected[name],
          name === 'signal_strength' ? 2.99 : 3,
        )
      const { confluence_bias, trend, vol_regime, rsi_zone } = expected
      expect(row).toMatchObject({ confluence_bias, trend, vol_regime, rsi_zone })
    }
    expect(new Set(coins.map((row) => row.vol_regime)).size, 'they differ').toBeGreaterThan(1)
  })
})

type Row = {
  readonly coin: string
  readonly signal_strength: number
  readonly rsi_14: number
  readonly change_24h_pct: number
  readonly vol_regime: string
}

/** The coin as it was at the end of its recording, moved to the boundary. */
function realCoin(coin: string): Batch {
  const [quarters, fours] = [moved(coin, '15m', 1_344), moved(coin, '4h', 1_200)]
  const price = quarters.at(-1)?.close ?? Number.NaN
  const side = (share: number) => [{ price: price * share, sizeBase: 1_000 }]
  return [
    context(coin, {
      markPrice: price,
      midPrice: price,
      prevDayPrice: quarters.at(-QUARTERS_PER_DAY)?.open ?? Number.NaN,
    }),
    history(coin, '4h', fours),
    history(coin, '15m', quarters),
    book(coin, { bids: side(0.9999), asks: side(1.0001) }),
    fundingHistory(coin),
  ]
}

/** Its last bars before a whole four hours, as if those ended at the boundary. */
function moved(coin: string, timeframe: Timeframe, count: number): Bar[] {
  const endOf = (bars: readonly Bar[], stepMs: number) => (bars.at(-1)?.openTimeMs ?? 0) + stepMs
  const fours = sharedBars(coin, '4h')
  const quarters = sharedBars(coin, '15m')
  const endMs =
    Math.floor(
      Math.min(endOf(quarters, timeframeMs['15m']), endOf(fours, timeframeMs['4h'])) /
        timeframeMs['4h'],
    ) * timeframeMs['4h']
  return (timeframe === '4h' ? fours : quarters)
    .filter(({ openTimeMs }) => openTimeMs < endMs)
    .slice(-count)
    .map((bar) => ({ ...bar, openTimeMs: bar.openTimeMs + BOUNDARY_MS - endMs }))
}

function read(tape: readonly Batch[]) {
  const processor = new Processor({ coin: [], market: [screener] }, '0.0.0')
  for (const batch of tape) processor.process(batch)
  const job = processor.gather('screener', NOW_MS)
  const document = screener.render(job.gathered as ScreenerColumns, job.rendering)
  const answer = document.views[screener.contract.defaultView]
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(answer)}`)
  const facts = { nowMs: NOW_MS, executionMs: 0, coinsAvailable: COINS.length }
  return JSON.parse(fillDocument(document, answer, facts).toString()) as {
    readonly coins: readonly Row[]
    readonly skipped: readonly unknown[]
  }
}
