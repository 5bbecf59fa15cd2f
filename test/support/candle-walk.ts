import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Bar } from '../../src/domain/bar.ts'
import type { CoinCandles } from '../../src/store/candle-folder.ts'

const QUARTER_MS = 900_000

/** Start of the 15m bars of {@link walkOf}. */
export const WALK_START_MS = Date.UTC(2026, 0, 1)

/**
 * A random walk of 15m bars, with the hours and 4h bars that they make, from 260 days before.
 * @param activityAt share of hours with trades, by the number of the bar
 */
export function walkOf(
  coin: string,
  seed: number,
  days: number,
  activityAt: (bar: number) => number = () => 1,
): CoinCandles {
  const chance = chanceOf(seed)
  const before = 260 * 96
  let price = 100
  let isTraded = true
  const all: Bar[] = []
  for (let at = -before; at < days * 96; at += 1) {
    const open = price
    const activity = activityAt(at)
    if (at % 4 === 0) isTraded = activity === 1 || chance() < activity
    const moves = Array.from({ length: 4 }, () => {
      if (isTraded) price *= 1 + (chance() - 0.5) * 0.006
      return price
    })
    all.push({
      openTimeMs: WALK_START_MS + at * QUARTER_MS,
      open,
      high: Math.max(open, ...moves),
      low: Math.min(open, ...moves),
      close: price,
      volumeBase: isTraded ? 100 + 400 * chance() ** 4 : 0,
    })
  }
  const hours = joined(all, 4)
  return {
    coin,
    quarters: all.slice(before),
    hours,
    fourHours: joined(all, 16),
    fundings: hours.map(({ openTimeMs }) => ({
      timeMs: openTimeMs,
      rateHourly: (chance() - 0.4) * 1e-4,
    })),
  }
}

/** Writes the folder that `perpscope track-record --candles` reads. */
export function writeCandles(dir: string, coins: readonly CoinCandles[]): void {
  for (const { coin, quarters, hours, fourHours, fundings } of coins) {
    const folder = join(dir, 'coins', coin)
    mkdirSync(folder, { recursive: true })
    const write = (name: string, header: string, rows: readonly (readonly number[])[]) =>
      writeFileSync(
        join(folder, `${name}.csv.gz`),
        gzipSync([header, ...rows.map((row) => row.join())].join('\n')),
      )
    for (const [name, bars] of [
      ['15m', quarters],
      ['1h', hours],
      ['4h', fourHours],
    ] as const)
      write(
        name,
        't,o,h,l,c,v',
        bars.map((bar) => [
          ...[bar.openTimeMs, bar.open, bar.high, bar.low, bar.close, bar.volumeBase],
        ]),
      )
    const rates = fundings.map(({ timeMs, rateHourly }) => [timeMs, rateHourly])
    write('funding_1h', 't,fundingRate', rates)
  }
}

export function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function joined(bars: readonly Bar[], count: number): Bar[] {
  const longer: Bar[] = []
  for (let at = 0; at + count <= bars.length; at += count) {
    const part = bars.slice(at, at + count)
    longer.push({
      openTimeMs: part[0]?.openTimeMs ?? 0,
      open: part[0]?.open ?? 0,
      high: Math.max(...part.map(({ high }) => high)),
      low: Math.min(...part.map(({ low }) => low)),
      close: part.at(-1)?.close ?? 0,
      volumeBase: part.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
    })
  }
  return longer
}
