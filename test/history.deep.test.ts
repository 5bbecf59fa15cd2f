import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { NEVER, of } from 'rxjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MeasureLog } from '../src/compute/market/measure-log.ts'
import { Processor } from '../src/compute/processor.ts'
import type { Bar } from '../src/domain/bar.ts'
import type { MeasureHistoryEvent } from '../src/domain/external.ts'
import { memorySeries } from '../src/domain/history.ts'
import type { EnginePlatform } from '../src/engine/engine.ts'
import { Engine } from '../src/engine/engine.ts'
import { synchronousRenderer } from '../src/engine/market-renderer.ts'
import { restoredHistory } from '../src/engine/recorded-history.ts'
import type { Recorded } from '../src/engine/recording.ts'
import { recorderOf, restoredExternal } from '../src/engine/recording.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { solanaNode } from '../src/simulator/external/solana/solana-node.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import type { Market } from '../src/simulator/market/market.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { CheckpointDb } from '../src/store/checkpoint-db.ts'
import type { HistoryNotice } from '../src/store/history-store.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { batchOf, minutesOf } from '../src/store/testing/history-rows.ts'
import { solanaSource } from '../src/streams/external/solana/solana.ts'
import type { Post } from '../src/streams/runtime.ts'
import { VirtualVenue } from './support/virtual-venue.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Boundary of every timeframe and of funding. */
const BOUNDARY_MS = Date.UTC(2026, 0, 1, 12)
/** The engine writes every ten seconds: then at 5 s after every boundary, when bars have just closed. */
const START_MS = BOUNDARY_MS - 5 * MINUTE_MS + 5_000
const END_MS = BOUNDARY_MS + 17 * MINUTE_MS
/** A time at which ZEC's funding is not at the floor. */
const COINS = ['BTC', 'ETH', 'kPEPE', 'ZEC']
/** Slower than the venue's where that costs most; a sample may still be fifteen seconds old. */
const CADENCES = { blockMs: 500, activeAssetCtxMs: 5_000, fastAssetCtxsMs: 5_000 }
const FILES = ['engine.db', 'engine.db-wal', 'history.db', 'history.db-wal']

/** An engine that runs past a boundary of all timeframes, in virtual time, on a venue without faults. */
describe('the history of an engine', () => {
  let folder: string
  let market: Market
  let store: HistoryStore
  const notices: HistoryNotice[] = []
  /** Copies of the files as after a SIGKILL at that instant. */
  const copies: string[] = []

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-engine-history-'))
    const model = modelCoins(7, START_MS)
    market = new CoinMarkets({
      clockShiftMs: 0,
      coins: catalog.filter(([coin]) => COINS.includes(coin)).map((row) => model.ofCatalog(row)),
      newCoin: model.ofListing,
    })
    const virtual = venueFrom(market, START_MS)
    const dataDir = join(folder, 'engine')
    const engine = start(virtual, dataDir)
    for (let atMs = BOUNDARY_MS + 4_900; atMs < BOUNDARY_MS + 5_300; atMs += 10) {
      virtual.runUntil(atMs)
      copies.push(copyOf(dataDir, join(folder, `copy-${atMs}`)))
    }
    virtual.runUntil(END_MS)
    expect(engine.storeHealth()).toEqual({
      state: 'ok',
      reason: null,
      sinceMs: START_MS,
      droppedRows: 0,
      damagedBlocks: 0,
      setAsideFiles: 0,
    })
    engine.stop()
    store = open(dataDir)
  })

  afterAll(() => {
    store?.close(END_MS)
    rmSync(folder, { recursive: true })
  })

  test('has every closed hour of the venue', () => {
    for (const coin of COINS) {
      const bars = store.bars(coin, 0)
      const lastMs = Math.floor(END_MS / HOUR_MS) * HOUR_MS - HOUR_MS
      expect(bars.at(-1)?.openTimeMs, coin).toBe(lastMs)
      const fromMs = bars[0]?.openTimeMs ?? Number.NaN
      const truth = market.candles(coin, '1h', { fromMs, untilMs: lastMs + 1 }, END_MS)
      expect(bars.map(rounded), coin).toEqual(truth.map(rounded))
    }
  })

  test('has a sample of every minute, none older than its limit', () => {
    for (const coin of COINS) {
      const samples = store.samples(coin, 0, END_MS)
      const firstMs = samples[0]?.timeMs ?? Number.NaN
      expect(firstMs).toBeLessThanOrEqual(BOUNDARY_MS - 3 * MINUTE_MS)
      expect(samples.map(({ timeMs }) => timeMs)).toEqual(
        Array.from({ length: samples.length }, (_, at) => firstMs + at * MINUTE_MS),
      )
      expect(samples.at(-1)?.timeMs).toBe(END_MS)
      for (const sample of samples) {
        const heard = Array.from({ length: 151 }, (_, at) =>
          market.context(coin, sample.timeMs - at * 100),
        )
        const marks = heard.map((context) => context?.markPrice ?? Number.NaN)
        expect(sample.markPrice).toBeGreaterThanOrEqual(Math.min(...marks))
        expect(sample.markPrice).toBeLessThanOrEqual(Math.max(...marks))
        expect(sample.spreadBps).toBeGreaterThan(0)
      }
    }
  })

  test('has a month of settled funding, including the last hour', () => {
    for (const coin of COINS) {
      const settled = store.fundings(coin, 0)
      const range = { fromMs: settled[0]?.timeMs ?? Number.NaN, untilMs: END_MS }
      const truth = market.fundingHistory(coin, range, END_MS, 1_000)
      expect(settled.length).toBeGreaterThanOrEqual(720)
      expect(settled.at(-1)?.timeMs).toBe(BOUNDARY_MS)
      for (const [at, { timeMs, rateHourly, isSettled }] of settled.entries()) {
        expect(isSettled).toBe(true)
        expect(timeMs - (settled[at - 1]?.timeMs ?? timeMs - HOUR_MS)).toBe(HOUR_MS)
        expect(rateHourly).toBeCloseTo(truth[at]?.fundingRateHourly ?? Number.NaN, 9)
      }
    }
    expect(store.fundings('ZEC', 0).at(-1)?.rateHourly).toBeLessThan(0)
  })

  test('is loaded by the next engine, which requests only missing data from the venue', () => {
    const dataDir = copyOf(join(folder, 'engine'), join(folder, 'again'))
    const virtual = venueFrom(market, END_MS)
    const recorded: Recorded['entry'][] = []
    const requests: string[] = []
    const runtime = virtual.runtime()
    const post: Post = (url, body) => {
      requests.push((body as { type: string }).type)
      return runtime.post(url, body)
    }
    const recorder = recorderOf(({ entry }) => recorded.push(entry))
    const engine = start(virtual, dataDir, { runtime: { ...runtime, post }, recorder })
    virtual.runUntil(END_MS + 2 * MINUTE_MS)
    engine.stop()
    expect(requests).toContain('predictedFundings')
    expect(requests).not.toContain('fundingHistory')
    const told = recorded.flatMap((entry) => (entry.kind === 'remembered' ? [entry] : []))
    // The previous engine ran for minutes, so there are no samples of earlier days.
    const kept = memorySeries.filter((series) => series !== 'quarters')
    expect(told.map(({ coin, series }) => `${coin} ${series}`).toSorted()).toEqual(
      COINS.flatMap((coin) => kept.map((series) => `${coin} ${series}`)).toSorted(),
    )
    for (const entry of told) {
      const { coin, series, rows } = restoredHistory(entry)
      if (series === 'fundings') expect(rows).toEqual(store.fundings(coin, 0).slice(-rows.length))
      if (series === 'minutes') expect(rows).toEqual(store.samples(coin, 0, END_MS))
      if (series === 'hours') {
        expect(rows).toEqual(store.bars(coin, 0).slice(-rows.length))
        expect(rows.length, 'a month, most of it asked of the venue').toBeGreaterThanOrEqual(720)
      }
    }
  })

  test('of our own measures is loaded by the next engine, a week of one series at a time', () => {
    const dataDir = copyOf(join(folder, 'engine'), join(folder, 'measured'))
    const week = 7 * 24 * 60
    const series = ['basis/BTC', 'basis/ETH', 'depeg/USDT']
    const before = open(dataDir)
    for (const name of [...series, 'gone']) {
      const fromMs = END_MS - (name === 'gone' ? 3 : 1) * week * MINUTE_MS
      before.add(batchOf({ measures: minutesOf(name, fromMs - MINUTE_MS, week) }))
    }
    // Written while the local clock was wrong.
    before.add(batchOf({ measures: minutesOf('basis/BTC', END_MS + HOUR_MS, 10) }))
    before.close(END_MS)

    const recorded: Recorded[] = []
    const virtual = venueFrom(market, END_MS)
    const recorder = recorderOf((entry) => recorded.push(entry))
    const engine = start(virtual, dataDir, { recorder })
    virtual.runUntil(END_MS + 5_000)
    engine.stop()
    const told = recorded.flatMap(({ atMs, entry }) =>
      entry.kind === 'outside' ? restoredExternal(entry).map((event) => ({ atMs, event })) : [],
    )
    const log = new MeasureLog()
    for (const { event } of told) if (event.kind === 'measure-history') log.load(event)
    const names = told.map(({ event }) => 'series' in event && event.series)
    expect(names, 'beside what the engine measured itself').toEqual(expect.arrayContaining(series))
    expect(names).not.toContain('gone')
    for (const name of series) {
      const minutes = minutesOf(name, END_MS - (week - 1) * MINUTE_MS, week - 2)
      // The log stores per-coin values with seven digits.
      const kept = name.startsWith('basis/') ? Math.fround : Number
      expect([...log.values(name, 0, END_MS)]).toEqual(minutes.map(({ value }) => kept(value)))
    }
    expect(new Set(told.map(({ atMs }) => atMs)).size, 'in turns of their own').toBe(told.length)
    const between = recorded.filter(
      ({ atMs, entry }) => entry.kind !== 'outside' && atMs < (told.at(-1)?.atMs ?? 0),
    )
    expect(between.length, 'while everything else goes on').toBeGreaterThan(1)
  })

  test('keeps an engine’s measures of external sources, and continues them after a restart', () => {
    const dataDir = copyOf(join(folder, 'engine'), join(folder, 'outside'))
    const told: MeasureHistoryEvent[] = []
    const recorder = recorderOf(({ entry }) => {
      const events = entry.kind === 'outside' ? restoredExternal(entry) : []
      for (const event of events) if (event.kind === 'measure-history') told.push(event)
    })
    const runFor = (fromMs: number, durationMs: number) => {
      const virtual = venueFrom(market, fromMs)
      const engine = start(virtual, dataDir, { recorder, external: solanaOf(market, virtual) })
      virtual.runUntil(fromMs + durationMs)
      engine.stop()
    }
    runFor(END_MS, 4 * MINUTE_MS)
    told.length = 0
    const kept = open(dataDir)
    const series = kept.measureSeries()
    const rowsOf = (name: string) => kept.measures(name, 0, END_MS + HOUR_MS)
    const before = new Map(series.map((name) => [name, rowsOf(name)]))
    kept.close(END_MS)
    expect(series).toContain('basis/BTC/pyth-solana')
    expect(Math.max(...[...before.values()].map((rows) => rows.length))).toBeGreaterThanOrEqual(2)

    runFor(END_MS + 5 * MINUTE_MS, 3 * MINUTE_MS)
    expect(told.map((event) => event.series)).toEqual(series)
    for (const event of told) expect(event.rows).toEqual(before.get(event.series))
    const after = open(dataDir)
    const [name = ''] = series
    const rows = after.measures(name, 0, END_MS + HOUR_MS)
    after.close(END_MS)
    const known = before.get(name) ?? []
    expect(rows.slice(0, known.length)).toEqual(known)
    expect(rows.length).toBeGreaterThan(known.length)
  })

  test('lacks no bar that a checkpoint knows, whenever the engine was killed', () => {
    let knowing = 0
    for (const copy of copies) {
      const { db } = CheckpointDb.open(join(copy, 'engine.db'), END_MS)
      const checkpoint = db.load()
      db.close()
      expect(checkpoint, 'the copy was made long after the first one').not.toBeNull()
      if (checkpoint === null) continue
      const processor = new Processor({ coin: [], market: [] }, '0.0.0')
      processor.restore(checkpoint, BOUNDARY_MS + 5_000)
      const history = open(copy)
      for (const coin of COINS) {
        const need = processor.view.missingBars(coin, BOUNDARY_MS + 5_000)[0]?.fromMs ?? Number.NaN
        if (need === BOUNDARY_MS) knowing += 1
        const last = history.bars(coin, 0).at(-1)?.openTimeMs ?? Number.NaN
        const knownUntilMs = Math.floor(need / HOUR_MS) * HOUR_MS
        expect(last + HOUR_MS, `${copy} ${coin}`).toBeGreaterThanOrEqual(knownUntilMs)
      }
      history.close(END_MS)
    }
    expect(knowing, 'some checkpoints know the last bar, others do not').toBeGreaterThan(0)
    expect(knowing).toBeLessThan(copies.length * COINS.length)
    expect(notices).toEqual([])
  })

  function open(dataDir: string): HistoryStore {
    const path = join(dataDir, 'history.db')
    return new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, END_MS)
  }
})

function venueFrom(market: Market, startMs: number): VirtualVenue {
  return new VirtualVenue(market, startMs, { cadences: CADENCES })
}

/** A summed volume differs in its last digit with the order of addition. */
function rounded({ openTimeMs, open, high, low, close, volumeBase }: Bar): Bar {
  return { openTimeMs, open, high, low, close, volumeBase: Number(volumeBase.toPrecision(12)) }
}

function start(
  virtual: VirtualVenue,
  dataDir: string,
  world: Partial<EnginePlatform> = {},
): Engine {
  return Engine.start(
    {
      venue: { wsUrl: 'ws://venue', infoUrl: 'http://venue' },
      weightPerMinute: 1_000,
      dexes: [],
      dataDir,
      version: '0.0.0',
    },
    {
      clock: virtual.clock,
      runtime: virtual.runtime(),
      log: pino({ level: 'silent' }),
      renderer: synchronousRenderer,
      ...world,
    },
    () => undefined,
  )
}

/** One external source, at a simulated node. */
function solanaOf(market: Market, virtual: VirtualVenue): NonNullable<EnginePlatform['external']> {
  const upstream = solanaNode(new ReferencePrices({ market, seed: 7 }), virtual.clock)
  const asked = { method: 'POST', path: '/', query: new URLSearchParams(), headers: {} }
  const post: Post = (_url, request) => {
    const reply = upstream.request?.({ ...asked, body: JSON.stringify(request) })
    return of({ status: 200, body: reply && 'body' in reply ? reply.body : '' })
  }
  const none = { get: () => NEVER, follow: () => NEVER }
  return (context) =>
    solanaSource({ urls: ['http://node'] }, context, { ...virtual.runtime(), post, ...none })
}

function copyOf(dataDir: string, copy: string): string {
  mkdirSync(copy)
  for (const file of FILES) {
    if (existsSync(join(dataDir, file))) copyFileSync(join(dataDir, file), join(copy, file))
  }
  return copy
}
