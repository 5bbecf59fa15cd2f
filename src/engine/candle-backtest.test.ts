import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { renderMarket } from '../compute/analyses/render-market.ts'
import type { DocumentKinds } from '../compute/analysis.ts'
import { Processor } from '../compute/processor.ts'
import { madeClaimsContract, madeClaimsDocument } from '../compute/track-record/made-claims.ts'
import type { Bar } from '../domain/bar.ts'
import { claimText } from '../domain/claim-text.ts'
import { bytesOf } from '../domain/document.ts'
import type { Batch } from '../domain/event.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import type { CoinCandles } from '../store/candle-folder.ts'
import { candleBacktest, candleSteps } from './candle-backtest.ts'

const QUARTER_MS = 900_000
const START_MS = Date.UTC(2026, 0, 1)
const DAYS = 3
const kinds = { coin: [], market: [madeClaimsDocument] } as DocumentKinds

describe('backtest over candles', () => {
  const coins = [walkOf('BTC', 1, 14 + DAYS), walkOf('kPEPE', 2, 14 + DAYS)]
  const claims = [...candleBacktest(coins)]

  test('resolves claims of every rule that candles can grade, each once', () => {
    const rules = new Set(claims.map(({ rule }) => rule))
    for (const rule of ['confluence.bias@2', 'vote.trend@2', 'zone.touch@1', 'cascade.score@1'])
      expect(rules).toContain(rule)
    const names = claims.map(({ rule, coin, madeAtMs }) => `${rule} ${coin} ${madeAtMs}`)
    expect(new Set(names).size).toBe(names.length)
  })

  test('resolves a direction by the closes at both ends', () => {
    const bias = claims.filter(({ rule }) => rule === 'confluence.bias@2')
    expect(bias.length).toBeGreaterThan(5)
    for (const { coin, madeAtMs, horizonMs, outcome, resolvedAtMs, reference } of bias) {
      if (outcome.kind === 'void') {
        expect(outcome.reason).toBe('delisted')
        continue
      }
      expect(resolvedAtMs).toBe(madeAtMs + horizonMs + QUARTER_MS)
      const closeAt = (atMs: number) =>
        coins
          .find((candles) => candles.coin === coin)
          ?.quarters.find(({ openTimeMs }) => openTimeMs + QUARTER_MS === atMs)?.close ?? 0
      const change = closeAt(madeAtMs + horizonMs) - closeAt(madeAtMs)
      const [direction = 0] = reference
      expect(outcome).toEqual({
        kind: 'event',
        happened: direction * change > 0,
        controlHappened: null,
      })
    }
  })

  test('compares ATR with the largest move of 24 hours from the price at their start', () => {
    const ranked = claims.filter(({ rule }) => rule === 'cascade.atr@2')
    expect(ranked.length).toBeGreaterThan(5)
    for (const { coin, madeAtMs, statement } of ranked) {
      const { quarters = [] } = coins.find((candles) => candles.coin === coin) ?? {}
      const end = quarters.findIndex(({ openTimeMs }) => openTimeMs === madeAtMs)
      const start = quarters[end - 97]?.close ?? Number.NaN
      const day = quarters.slice(end - 96, end)
      const moves = day.flatMap(({ high, low }) => [high / start - 1, 1 - low / start])
      const control = statement.form === 'rank' ? statement.control : Number.NaN
      expect(control / (100 * Math.max(...moves))).toBeCloseTo(1, 4)
    }
  })

  test('makes at most one claim of a rule, a coin and an hour, at a quarter', () => {
    for (const { madeAtMs } of claims) expect(madeAtMs % QUARTER_MS).toBe(0)
    const hours = claims.map(
      ({ rule, coin, madeAtMs }) => `${rule} ${coin} ${madeAtMs - (madeAtMs % 3_600_000)}`,
    )
    expect(new Set(hours).size).toBe(hours.length)
  })

  test('makes the open claims of a coin void when it is delisted, and counts them', () => {
    const voids = claims.filter(({ outcome }) => outcome.kind === 'void')
    expect(voids.length).toBeGreaterThan(0)
    for (const { madeAtMs, horizonMs, resolvedAtMs } of voids)
      expect(madeAtMs + horizonMs + QUARTER_MS).toBeGreaterThan(resolvedAtMs - QUARTER_MS)
  })

  test('resolves the same claims when the engine is restarted at any bar', () => {
    const uninterrupted = claimsOfRun(coins, null).resolved
    expect(uninterrupted.length).toBeGreaterThan(200)
    for (const restartAt of [1, 37, 150, 151])
      expect(claimsOfRun(coins, restartAt).resolved).toEqual(uninterrupted)
  })

  test('keeps claims that history has not stored through a restart, byte for byte', () => {
    const uninterrupted = claimsOfRun(coins, null).resolved
    // Of ten hours.
    const restarted = claimsOfRun(coins, 151, 40).resolved
    expect(JSON.stringify(restarted)).toBe(JSON.stringify(uninterrupted))
  })

  test('gives the proof log each claim before its outcome, the same after a restart', () => {
    const { resolved, made } = claimsOfRun(coins, null)
    for (const claim of resolved)
      expect(made.get(digestOf(claim)), JSON.stringify(claim)).toBeLessThan(claim.resolvedAtMs)
    expect(made.size, 'and nothing else').toBe(resolved.length)
    for (const restartAt of [37, 151]) expect(claimsOfRun(coins, restartAt).made).toEqual(made)
  })
})

test('the base rate of a coin that nobody traded for 36 days is small, and not 0', () => {
  const first = walkOf('BTC', 5, 14 + DAYS, (bar) => (bar < 14 * 96 ? 0 : 1))
  const controls = [...candleBacktest([first])].flatMap(
    ({ rule, madeAtMs, horizonMs, statement }) =>
      /^(vote|confluence)\./.test(rule) &&
      horizonMs === 3_600_000 &&
      madeAtMs < START_MS + 15 * 96 * QUARTER_MS &&
      statement.form === 'event'
        ? [statement.control]
        : [],
  )
  expect(controls.length).toBeGreaterThan(3)
  for (const control of controls) expect(control).toBeCloseTo(50 / 36 / 136, 6)
})

describe('backtest over candles of a coin that nobody trades in three of four hours', () => {
  const quiet = walkOf('BTC', 5, 14 + DAYS, () => 0.25)
  const claims = [...candleBacktest([quiet])]

  test('claims no reaction of a zone where every bar would react', () => {
    const calm = (wanted: string) =>
      claims.filter(({ rule, reference }) => rule === wanted && reference[3] === 0)
    expect(calm('zone.touch@1').length).toBeGreaterThan(3)
    expect(calm('zone.reaction@2')).toEqual([])
  })

  test('states a base rate whose odds are half of the share of days with a change', () => {
    const closes = new Map(quiet.hours.map((bar) => [bar.openTimeMs + 3_600_000, bar.close]))
    const found = claims.filter(
      ({ rule, horizonMs }) => rule.startsWith('vote.') && horizonMs === 3_600_000,
    )
    expect(found.length).toBeGreaterThan(5)
    for (const { madeAtMs, statement, reference } of found) {
      const hourMs = madeAtMs - (madeAtMs % 3_600_000)
      const signs = Array.from({ length: 36 }, (_, day) => {
        const fromMs = hourMs - (day + 1) * 96 * QUARTER_MS
        return Math.sign((closes.get(fromMs + 3_600_000) ?? 0) - (closes.get(fromMs) ?? 0))
      })
      const changed = signs.filter((sign) => sign !== 0).length
      const moved = signs.filter((sign) => sign === reference[0]).length
      const control = statement.form === 'event' ? statement.control : null
      expect(control).toBeCloseTo((moved + 50 * (changed / 36)) / 136, 5)
    }
  })
})

/**
 * @param restartAt number of the step before which the engine is restarted from its checkpoint
 * @param unstoredSteps steps before the restart in which history stores no claims
 */
function claimsOfRun(coins: readonly CoinCandles[], restartAt: number | null, unstoredSteps = 0) {
  let processor = new Processor(kinds, 'before')
  const resolved: ResolvedClaim[] = []
  /** By digest: when it was given first. */
  const made = new Map<string, number>()
  let step = 0
  for (const { batches, nowMs } of candleSteps(coins)) {
    if (step === restartAt) {
      const checkpoint = processor.records.checkpoint(nowMs - QUARTER_MS)
      processor = new Processor(kinds, 'after')
      processor.restore(checkpoint, nowMs - QUARTER_MS + 1_000)
      for (const batch of loadedAt(coins, nowMs)) processor.process(batch)
    }
    for (const batch of batches) processor.process(batch)
    for (const _ of coins) processor.advance(nowMs)
    for (const digest of madeAt(processor, nowMs)) if (!made.has(digest)) made.set(digest, nowMs)
    const isStored = restartAt === null || step < restartAt - unstoredSteps || step >= restartAt
    if (isStored) resolved.push(...processor.records.takeClaims())
    step += 1
  }
  return { resolved, made }
}

/** As the engine gathers the document and its worker renders it. */
function madeAt(processor: Processor, nowMs: number): readonly string[] {
  const job = processor.gather(madeClaimsContract.id, nowMs)
  const document = renderMarket(structuredClone(job))
  return JSON.parse(new TextDecoder().decode(bytesOf(document))).sha256
}

function digestOf(claim: ResolvedClaim): string {
  return hash('sha256', claimText(claim), 'base64url')
}

/** What the engine loads from its history after a restart. */
function loadedAt(coins: readonly CoinCandles[], nowMs: number): Batch[] {
  const at = { timeExchangeMs: nowMs - QUARTER_MS, timeReceivedMs: nowMs - QUARTER_MS }
  return coins.flatMap(({ coin, hours, fundings }) => [
    [
      {
        kind: 'hourly-history' as const,
        coin,
        bars: hours.filter(({ openTimeMs }) => openTimeMs + 3_600_000 <= at.timeExchangeMs),
        isRemembered: true as const,
        ...at,
      },
    ],
    [
      {
        kind: 'funding-history' as const,
        coin,
        rows: fundings
          .filter(({ timeMs }) => timeMs <= at.timeExchangeMs)
          .map((row) => ({ coin, ...row, premium: null, isSettled: true })),
        ...at,
      },
    ],
  ])
}

/**
 * A random walk of 15m bars, with the hours and 4h bars that they make, from 40 days before.
 * @param activityAt share of hours with trades, by the number of the bar
 */
function walkOf(
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
      openTimeMs: START_MS + at * QUARTER_MS,
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

function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
