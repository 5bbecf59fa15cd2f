import { join } from 'node:path'
import { OperatingError } from '../domain/errors.ts'
import type { MarketSample } from '../domain/history.ts'
import { SAMPLE_STEP_MS } from '../domain/history.ts'
import type { Market } from '../simulator/market/market.ts'
import { HistoryStore } from '../store/history-store.ts'

const BPS = 10_000
/** The shortest change of open interest is over five of them. A day of all coins would take the venue a minute. */
const MINUTES = 7

/**
 * Writes history of a simulated market as a running service would have recorded it: readings of open interest, which the
 * venue does not provide later. A new service then reports changes of open interest at once.
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
  const lastMinute = Math.floor(nowMs / SAMPLE_STEP_MS)
  const timesMs = Array.from(
    { length: MINUTES },
    (_, at) => (lastMinute - MINUTES + 1 + at) * SAMPLE_STEP_MS,
  )
  for (const { coin, isDelisted } of market.universe()) {
    if (isDelisted) continue
    const samples = timesMs.flatMap((timeMs) => sampleOf(market, coin, timeMs) ?? [])
    history.add({ bars: [], samples, fundings: [], measures: [], droppedRows: 0 })
    for (const _ of history.write(nowMs, true));
  }
  history.close(nowMs)
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
