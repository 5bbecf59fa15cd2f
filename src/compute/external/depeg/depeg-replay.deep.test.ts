import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { NaiveState } from '../../../../test/golden/naive-depeg.ts'
import { naiveInstants, naiveStates } from '../../../../test/golden/naive-depeg.ts'
import type { ExternalEvent } from '../../../domain/external.ts'
import { ExternalState } from '../../market/external-state.ts'
import { MeasureLog } from '../../market/measure-log.ts'
import { exchangeQuote, oraclePrice } from '../../testing/peg-tape.ts'
import { DepegMeasure } from './depeg-measure.ts'
import { bracketOf } from './peg-level.ts'

const SHARED = join(import.meta.dirname, '../../../../shared/data')
const ROUNDS = join(SHARED, 'usdc-depeg-2023-chainlink/usdc_usd_depeg_230312.csv')
const HOURS = join(SHARED, 'usdc-depeg-2023-kraken/kraken_usdcusd_hourly_20230310_20230314.csv')
const isAbsent = !existsSync(ROUNDS) || !existsSync(HOURS)

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const TIMEOUT_MS = 60_000
const QUOTE_STEP_MS = 5 * SECOND_MS
const START_MS = Date.UTC(2023, 2, 10, 18)
const END_MS = Date.UTC(2023, 2, 14)

describe('March 2023 (needs ../shared/data)', () => {
  test.skipIf(isAbsent)(
    'raw thresholds on Chainlink alone are crossed at the recorded times',
    () => {
      const crossed: Record<number, string> = {}
      let low = { usd: 1, at: '' }
      const levels = new Set<number>()
      replay(rounds(0), Date.UTC(2023, 2, 12, 9), (measure, atMs) => {
        const price = measure.sample?.price ?? expect.fail('a round is fresh for 26 hours')
        const bracket = bracketOf(Math.abs(price.deviationBps))
        for (let level = 1; level <= bracket; level += 1) crossed[level] ??= clock(atMs)
        if (price.priceUsd < low.usd) low = { usd: price.priceUsd, at: clock(atMs) }
        levels.add(measure.level.level)
      })
      expect(crossed).toEqual({
        1: '10 22:27:35',
        2: '11 00:38:11',
        3: '11 01:54:47',
        4: '11 03:20:23',
        5: '11 03:49:47',
      })
      expect(low).toEqual({ usd: 0.88, at: '11 07:51:23' })
      expect([...levels], 'one class alone').toEqual([0, 1])
    },
    TIMEOUT_MS,
  )

  test.skipIf(isAbsent)(
    'both tapes give the levels, statuses and durations of the naive rule, and these times',
    () => {
      const events = [...rounds(25), ...quotes()].sort(
        (one, other) => one.timeReceivedMs - other.timeReceivedMs,
      )
      const found: (NaiveState & { atMs: number })[] = []
      replay(events, END_MS, ({ level, status }, atMs) => {
        found.push({
          atMs,
          level: level.level,
          status: status.name,
          seconds: level.spellSeconds(),
        })
      })
      const instants = naiveInstants(
        events,
        found.map(({ atMs }) => atMs),
      )
      const expected = naiveStates(instants)
      const differing = found.filter((state, at) => !isSame(state, expected[at]))
      expect(differing.slice(0, 3)).toEqual([])
      expect(changesOf(found, ({ level }) => String(level))).toEqual([
        '10 18:00:00 0',
        '11 00:43:11 2',
        '11 03:12:47 3',
        '11 03:21:23 4',
        '11 04:01:00 5',
        '12 01:15:00 4',
        '13 13:15:00 2',
        '13 16:15:00 1',
      ])
      const statuses = changesOf(found, ({ status }) => status)
      expect(statuses.slice(0, 5)).toEqual([
        '10 18:00:00 HEALTHY',
        '11 00:38:11 ELEVATED',
        '11 01:00:00 WARNING',
        '11 03:00:00 CRITICAL',
        '12 01:45:11 WARNING',
      ])
      expect(statuses.slice(-6)).toEqual([
        '12 04:16:11 CRITICAL',
        '13 10:49:48 WARNING',
        '13 13:00:00 ELEVATED',
        '13 17:00:00 HEALTHY',
        '13 18:00:00 ELEVATED',
        '13 19:00:00 HEALTHY',
      ])
    },
    TIMEOUT_MS,
  )
})

function isSame(one: NaiveState, other: NaiveState | undefined): boolean {
  return (
    one.level === other?.level &&
    one.status === other.status &&
    one.seconds.every((seconds, at) => seconds === other.seconds[at])
  )
}

/** Looks every five seconds, and to the second where a round can make a difference. */
function replay(
  events: readonly ExternalEvent[],
  endMs: number,
  look: (measure: DepegMeasure, atMs: number) => void,
): void {
  const measure = new DepegMeasure()
  const market = { external: new ExternalState(), log: new MeasureLog() }
  let next = 0
  for (const atMs of instantsUntil(endMs)) {
    for (; ; next += 1) {
      const event = events[next]
      if (event === undefined || event.timeReceivedMs > atMs) break
      market.external.apply(event)
      measure.apply(event)
    }
    measure.advance(market, atMs)
    look(measure, atMs)
  }
}

function instantsUntil(endMs: number): readonly number[] {
  const instants = new Set<number>()
  for (let atMs = START_MS; atMs < endMs; atMs += QUOTE_STEP_MS) instants.add(atMs)
  for (const { timeReceivedMs } of rounds(0))
    for (const laterMs of [0, 60_000, 5 * 60_000, 15 * 60_000, 26 * HOUR_MS + SECOND_MS])
      instants.add(timeReceivedMs + laterMs)
  return [...instants].filter((atMs) => atMs >= START_MS && atMs < endMs).sort((a, b) => a - b)
}

/** Every round as the network published it. */
function rounds(resolutionBps: number): readonly ExternalEvent[] {
  return rows(ROUNDS, 2).map(([, answer, updatedAt]) =>
    oraclePrice(
      {
        network: 'chainlink',
        place: 'ethereum',
        priceUsd: Number(answer) / 1e8,
        confidenceUsd: null,
        ema: null,
        resolutionBps,
        heartbeatMs: 24 * HOUR_MS,
      },
      Number(updatedAt) * SECOND_MS,
    ),
  )
}

/** Every hour as a book of one bp around its volume-weighted price, repeated every five seconds. */
function quotes(): readonly ExternalEvent[] {
  return rows(HOURS, 1).flatMap(([hour, , , , , vwap]) => {
    const startMs = Date.parse(hour ?? '')
    return Array.from({ length: HOUR_MS / QUOTE_STEP_MS }, (_, at) =>
      exchangeQuote('kraken', 'USDC', 'USD', Number(vwap), startMs + at * QUOTE_STEP_MS),
    )
  })
}

function rows(path: string, headLines: number): readonly (readonly string[])[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n').slice(headLines)
  return lines.map((line) => line.split(','))
}

function changesOf(
  found: readonly (NaiveState & { atMs: number })[],
  word: (state: NaiveState) => string,
): string[] {
  return found.flatMap((state, at) => {
    const before = found[at - 1]
    if (before !== undefined && word(before) === word(state)) return []
    return `${clock(state.atMs)} ${word(state)}`
  })
}

/** Day of March and time, UTC. */
function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(8, 19).replace('T', ' ')
}
