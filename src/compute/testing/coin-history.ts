import type { Batch } from '../../domain/event.ts'
import type { FundingRow, MarketSample } from '../../domain/history.ts'
import { FUNDING_STEP_MS, SAMPLE_STEP_MS, SPARSE_SAMPLE_STEP_MS } from '../../domain/history.ts'
import { BOUNDARY_MS, NOW_MS, wave } from './tape.ts'

const HOURS = 720
const MINUTES = 1_440
const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }

/**
 * What history remembers of a coin of the tape: hourly bars, samples and funding of thirty days. Another `phase`
 * gives another past.
 */
export function coinHistory(coin: string, phase: number): Batch[] {
  const bars = wave('1h', HOURS, 0.02 + 0.0002 * phase)
  const quarters = times(
    SPARSE_SAMPLE_STEP_MS,
    (HOURS - MINUTES / 60) * 4,
    BOUNDARY_MS - MINUTES * SAMPLE_STEP_MS,
  )
  const samples = [...quarters, ...times(SAMPLE_STEP_MS, MINUTES, BOUNDARY_MS)].map((timeMs) =>
    sample(coin, timeMs, phase),
  )
  const rows = times(FUNDING_STEP_MS, HOURS, BOUNDARY_MS).map((timeMs) =>
    funding(coin, timeMs, phase),
  )
  return [
    [{ kind: 'hourly-history', coin, bars, isRemembered: true, ...at }],
    [{ kind: 'sample-history', coin, samples, ...at }],
    [{ kind: 'funding-history', coin, rows, ...at }],
  ]
}

/** So many instants, the last of them at the end. */
function times(stepMs: number, count: number, endMs: number): number[] {
  return Array.from({ length: count }, (_, index) => endMs - (count - 1 - index) * stepMs)
}

function sample(coin: string, timeMs: number, phase: number): MarketSample {
  const swing = Math.sin(timeMs / 9e6 + phase)
  return {
    coin,
    timeMs,
    markPrice: 110 + swing,
    oraclePrice: 110 + 0.99 * swing,
    openInterestBase: 1_234 + 50 * swing,
    dayNotional: 5e6,
    fundingRateHourly: 1.25e-5 + 1e-5 * swing,
    premium: 1e-4 * swing,
    spreadBps: 2 + swing,
    impactSpreadBps: 4 + swing,
  }
}

function funding(coin: string, timeMs: number, phase: number): FundingRow {
  const rateHourly = 1.25e-5 + 1e-5 * Math.sin(timeMs / 3e7 + phase)
  return { coin, timeMs, rateHourly, premium: 8 * rateHourly, isSettled: true }
}
