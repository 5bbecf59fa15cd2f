import { join } from 'node:path'
import { OperatingError } from '../domain/errors.ts'
import type { MarketSample } from '../domain/history.ts'
import { SAMPLE_STEP_MS } from '../domain/history.ts'
import type { Market } from '../simulator/market/market.ts'
import { HistoryStore } from '../store/history-store.ts'

const BPS = 10_000
/**
 * Minutes between samples, and how far back: a reading near the start of each change of up to a day, and every hour of a
 * day. Every minute of a day of all coins would take the venue a minute.
 */
const SPANS = [
  [1, 6],
  [10, 70],
  [30, 1_500],
] as const

/**
 * Writes history of a simulated market as a running service would have recorded it: readings of open interest, which the
 * venue does not provide later. A new service then reports changes and ranks of open interest at once.
 */
export function writeSimulatedPast(market: Market, dataDir: string, nowMs: number): void {
  const history = new HistoryStore(
    {
      path: join(dataDir, 'history.db'),
      onNotice: (notice) => {
        if (notice.kind === 'unwritten')
          throw new OperatingError('past_unwritten', `the past is not in ${dataDir}`)
      },
    },
    nowMs,
  )
  const timesMs = sampleTimesMs(nowMs)
  for (const { coin, isDelisted } of market.universe()) {
    if (isDelisted) continue
    const samples = timesMs.flatMap((timeMs) => sampleOf(market, coin, timeMs) ?? [])
    history.add({ bars: [], samples, fundings: [], measures: [], droppedRows: 0 })
    for (const _ of history.write(nowMs, true));
  }
  history.close(nowMs)
}

/** Whole minutes, ascending. */
function sampleTimesMs(nowMs: number): readonly number[] {
  const lastMinute = Math.floor(nowMs / SAMPLE_STEP_MS)
  const minutes = SPANS.flatMap(([step, back]) =>
    Array.from(
      { length: Math.floor(back / step) + 1 },
      (_, at) => (Math.floor(lastMinute / step) - at) * step,
    ),
  )
  return [...new Set(minutes)]
    .toSorted((one, other) => one - other)
    .map((minute) => minute * SAMPLE_STEP_MS)
}

function sampleOf(market: Market, coin: string, timeMs: number): MarketSample | null {
  const context = market.context(coin, timeMs)
  if (context === undefined) return null
  const { impact, midPrice } = context
  return {
    coin,
    timeMs,
    markPrice: context.markPrice,
    oraclePrice: context.oraclePrice,
    openInterestBase: context.openInterestBase,
    dayNotional: context.dayNotionalUsd,
    fundingRateHourly: context.fundingRateHourly,
    premium: context.premium,
    spreadBps: null,
    impactSpreadBps:
      impact === null || midPrice === null ? null : ((impact.ask - impact.bid) / midPrice) * BPS,
  }
}
