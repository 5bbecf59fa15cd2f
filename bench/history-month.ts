import { crc32 } from 'node:zlib'
import type { Bar } from '../src/domain/bar.ts'
import type { FundingRow, HistoryBatch, MarketSample } from '../src/domain/history.ts'
import { SPARSE_SAMPLE_STEP_MS } from '../src/domain/history.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * History of one coin between two instants, as the service stores it. It is a function of coin and time, so that
 * it can be generated again for comparison.
 * @param denseFromMs samples are 1 min apart from this time on, 15 min before it
 */
export function historyOf(
  coin: string,
  fromMs: number,
  untilMs: number,
  denseFromMs: number,
): HistoryBatch {
  const turnMs = Math.min(untilMs, Math.max(fromMs, denseFromMs))
  const sampleTimes = [
    ...times(fromMs, turnMs, SPARSE_SAMPLE_STEP_MS),
    ...times(turnMs, untilMs, MINUTE_MS),
  ]
  return {
    bars: times(fromMs, untilMs, HOUR_MS).map((openTimeMs) => ({
      coin,
      timeframe: '1h',
      bar: barAt(coin, openTimeMs),
    })),
    samples: sampleTimes.map((timeMs) => sampleAt(coin, timeMs)),
    fundings: times(fromMs, untilMs, HOUR_MS).map((timeMs) => fundingAt(coin, timeMs)),
    measures: [],
    droppedRows: 0,
  }
}

export function emptyBatch(): HistoryBatch {
  return { bars: [], samples: [], fundings: [], measures: [], droppedRows: 0 }
}

function times(fromMs: number, untilMs: number, stepMs: number): number[] {
  const firstMs = Math.ceil(fromMs / stepMs) * stepMs
  const count = Math.max(0, Math.ceil((untilMs - firstMs) / stepMs))
  return Array.from({ length: count }, (_, at) => firstMs + at * stepMs)
}

/** A pseudo-random number with all significant digits, like most real figures. */
function noise(coin: string, timeMs: number): number {
  return 1 + Math.sin((timeMs / MINUTE_MS) * 977 + (crc32(coin) % 997) * 7_919) / 50
}

export function barAt(coin: string, openTimeMs: number): Bar {
  const open = 100 * noise(coin, openTimeMs)
  const close = 100 * noise(coin, openTimeMs + MINUTE_MS)
  const [high, low] = [Math.max(open, close) * 1.001, Math.min(open, close) * 0.999]
  const volumeBase = 1_000 * noise(coin, openTimeMs + 2 * MINUTE_MS)
  return { openTimeMs, open, high, low, close, volumeBase }
}

export function sampleAt(coin: string, timeMs: number): MarketSample {
  const value = (at: number) => noise(coin, timeMs + at * MINUTE_MS)
  return sampleFrom(coin, [
    0,
    timeMs,
    ...[100 * value(0), 100.03 * value(0), 1e5 * value(1), 1e7 * value(2)],
    ...[1.25e-5 * value(3), 1e-4 * value(4), value(5), 3 * value(6)],
  ])
}

/** From coin and time on in the order of the table. */
export function sampleFrom(coin: string, [, timeMs, ...values]: readonly number[]): MarketSample {
  const [markPrice, oraclePrice, openInterestBase, dayNotional, ...others] = values
  const [fundingRateHourly, premium, spreadBps, impactSpreadBps] = others
  return {
    ...{ coin, timeMs, markPrice, oraclePrice, openInterestBase, dayNotional },
    ...{ fundingRateHourly, premium, spreadBps, impactSpreadBps },
  } as MarketSample
}

export function fundingAt(coin: string, timeMs: number): FundingRow {
  const rateHourly = 1.25e-5 * noise(coin, timeMs)
  return { coin, timeMs, rateHourly, premium: rateHourly * 8, isSettled: true }
}
