import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { WALK_START_MS, walkOf } from '../../test/support/candle-walk.ts'
import { collected } from '../../test/support/collected.ts'
import type { PlantedTrade } from '../../test/support/node-fills.ts'
import { blockLines, liquidationsOf, writeArchive } from '../../test/support/node-fills.ts'
import { renderMarket } from '../compute/analyses/render-market.ts'
import type { DocumentKinds } from '../compute/analysis.ts'
import { Processor } from '../compute/processor.ts'
import { madeClaimsContract, madeClaimsDocument } from '../compute/track-record/made-claims.ts'
import { claimText } from '../domain/claim-text.ts'
import { bytesOf } from '../domain/document-bytes.ts'
import type { Batch } from '../domain/event.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import type { CoinCandles } from '../store/candle-folder.ts'
import { fillsHours } from '../store/fills-folder.ts'
import { ArchivedLiquidations } from './archived-liquidations.ts'
import { candleBacktest, candleSteps } from './candle-backtest.ts'

const QUARTER_MS = 900_000
const DAYS = 3
const kinds = { coin: [], market: [madeClaimsDocument] } as DocumentKinds

describe('backtest over candles', async () => {
  const coins = [walkOf('BTC', 1, 14 + DAYS), walkOf('kPEPE', 2, 14 + DAYS)]
  const claims = await collected(candleBacktest(coins))

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

test('the base rate of a coin that nobody traded for 36 days is small, and not 0', async () => {
  const first = walkOf('BTC', 5, 14 + DAYS, (bar) => (bar < 14 * 96 ? 0 : 1))
  const controls = (await collected(candleBacktest([first]))).flatMap(
    ({ rule, madeAtMs, horizonMs, statement }) =>
      /^(vote|confluence)\./.test(rule) &&
      horizonMs === 3_600_000 &&
      madeAtMs < WALK_START_MS + 15 * 96 * QUARTER_MS &&
      statement.form === 'event'
        ? [statement.control]
        : [],
  )
  expect(controls.length).toBeGreaterThan(3)
  for (const control of controls) expect(control).toBeCloseTo(50 / 36 / 136, 6)
})

describe('backtest over candles of a coin that nobody trades in three of four hours', async () => {
  const quiet = walkOf('BTC', 5, 14 + DAYS, () => 0.25)
  const claims = await collected(candleBacktest([quiet]))

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

describe('backtest over candles with archived fills', () => {
  const HOUR_MS = 4 * QUARTER_MS
  const DAY_MS = 24 * HOUR_MS
  const FILLS_MS = WALK_START_MS + 14 * DAY_MS
  const missingMs = FILLS_MS + 4 * DAY_MS + 7 * HOUR_MS
  const coins = [walkOf('BTC', 1, 14 + 8), walkOf('kPEPE', 2, 14 + 8)]
  const trades = coins.flatMap((candles, at) => liquidationsOf(candles, at + 1))
  const lost = trades.find(
    ({ coin, timeMs }) => coin === 'BTC' && timeMs > FILLS_MS + 1.5 * DAY_MS,
  ) as PlantedTrade
  let claims: readonly ResolvedClaim[]

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'perpscope-backtest-'))
    try {
      const span = { fromMs: FILLS_MS, untilMs: FILLS_MS + 6 * DAY_MS, stepMs: 60_000 }
      const lines = blockLines(span, trades).map(([timeMs, line]) => {
        const isLost = line.includes(`"tid":${lost.tradeId},`)
        return [timeMs, isLost ? line.replace(/"sz":"[^"]*"/, '"sz":"0"') : line] as const
      })
      writeArchive(dir, lines, [missingMs])
      const archive = new ArchivedLiquidations({
        hours: fillsHours(dir),
        isVault: () => false,
        onFile: () => undefined,
        onDamage: (text) => expect(text).toContain('has an invalid fill'),
      })
      claims = await collected(candleBacktest(coins, undefined, archive))
    } finally {
      rmSync(dir, { recursive: true })
    }
  }, 60_000)

  const liquidated = () => claims.filter(({ rule }) => rule === 'zone.liquidated@1')
  const endOf = ({ madeAtMs, horizonMs }: ResolvedClaim) => madeAtMs + horizonMs

  test('resolves zones by the liquidations near them', () => {
    const counts = { level: 0, control: 0, none: 0 }
    for (const { coin, madeAtMs, horizonMs, reference, outcome } of liquidated()) {
      if (outcome.kind !== 'event') continue
      const [side = 0, level = 0, control = 0, width = 0, least = 0] = reference
      const isLiquidated = (price: number) => {
        const near = trades.filter((trade) => {
          const beyond = side * Math.log(trade.markPrice / price)
          return (
            trade.coin === coin &&
            trade.side === (side > 0 ? 'short' : 'long') &&
            trade.timeMs >= madeAtMs &&
            trade.timeMs < madeAtMs + horizonMs &&
            beyond >= 0 &&
            beyond < width
          )
        })
        return near.reduce((sum, { sizeBase, markPrice }) => sum + sizeBase * markPrice, 0) >= least
      }
      const [happened, controlHappened] = [isLiquidated(level), isLiquidated(control)]
      expect(outcome).toEqual({ kind: 'event', happened, controlHappened })
      if (happened) counts.level += 1
      if (controlHappened) counts.control += 1
      if (!happened && !controlHappened) counts.none += 1
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(2)
  })

  test('states what is enough: a ten-thousandth of the turnover of the day, in a range beside its control', () => {
    for (const { coin, madeAtMs, reference, statement } of liquidated()) {
      const [side = 0, level = 0, control = 0, width = 0, least = 0] = reference
      const { quarters = [] } = coins.find((candles) => candles.coin === coin) ?? {}
      const turnover = quarters
        .filter(({ openTimeMs }) => openTimeMs >= madeAtMs - DAY_MS && openTimeMs < madeAtMs)
        .reduce((sum, { volumeBase, close }) => sum + volumeBase * close, 0)
      expect(least / turnover).toBeCloseTo(1e-4, 8)
      const apart = Math.abs(Math.log(level / control))
      expect(width).toBeLessThan(1.001 * apart)
      // The range of the nearer control ends at the level.
      if (side * Math.log(level / control) > 0) expect(apart / width).toBeCloseTo(1, 2)
      expect(statement.form === 'event' && statement.probability).toBeLessThan(0.5)
    }
  })

  test('claims them while fills are read, and leaves those void whose hours or fills are not', () => {
    const found = liquidated()
    expect(found.length).toBeGreaterThan(25)
    for (const claim of found) {
      const { coin, madeAtMs, outcome } = claim
      expect(madeAtMs).toBeGreaterThanOrEqual(FILLS_MS)
      expect(madeAtMs).toBeLessThan(FILLS_MS + 6 * DAY_MS)
      expect(madeAtMs > missingMs && madeAtMs < missingMs + HOUR_MS, 'in the missing hour').toBe(
        false,
      )
      const isLost = coin === lost.coin && madeAtMs <= lost.timeMs && endOf(claim) > lost.timeMs
      const isCovered =
        endOf(claim) < FILLS_MS + 6 * DAY_MS &&
        (madeAtMs >= missingMs + HOUR_MS || endOf(claim) < missingMs) &&
        !isLost
      expect(outcome.kind, new Date(madeAtMs).toISOString()).toBe(isCovered ? 'event' : 'void')
    }
    const voids = found.filter(({ outcome }) => outcome.kind === 'void')
    expect(voids.length).toBeGreaterThan(5)
    expect(voids.every(({ outcome }) => 'reason' in outcome && outcome.reason === 'gap')).toBe(true)
  })

  test('makes and resolves all other claims as without fills', async () => {
    const others = claims.filter(({ rule }) => rule !== 'zone.liquidated@1')
    expect(await collected(candleBacktest(coins))).toEqual(others)
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
