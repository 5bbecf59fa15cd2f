/**
 * History on disk: a month of 326 coins in blocks (ours) compared with one SQL row per record, and the time for
 * which each slice of work blocks the engine's thread: `node_modules/.bin/tsx bench/store.ts`. `--quick` is
 * small and only checks that the written data are read back.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import Table from 'cli-table3'
import type { Bar } from '../src/domain/bar.ts'
import type { Part, View } from '../src/domain/document.ts'
import type { FundingRow, HistoryBatch, MarketSample } from '../src/domain/history.ts'
import { memorySeries, SPARSE_SAMPLE_STEP_MS } from '../src/domain/history.ts'
import type { PackedDocument } from '../src/domain/packed-document.ts'
import { packDocument } from '../src/domain/packed-document.ts'
import { CheckpointDb } from '../src/store/checkpoint-db.ts'
import { DocumentStore } from '../src/store/document-store.ts'
import type { HistorySlice } from '../src/store/history-store.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { storedSeries } from '../src/store/stored-series.ts'
import { walCheckpointThread } from '../src/store/wal-checkpoint-thread.ts'
import { barAt, emptyBatch, fundingAt, historyOf, sampleAt, sampleFrom } from './history-month.ts'

const isQuick = process.argv.includes('--quick')
const COINS = isQuick ? 6 : 326
const DAYS = isQuick ? 3 : 30
/** Simulated minutes of operation on the full file. */
const STEADY_MINUTES = isQuick ? 30 : 480
const SLICE_MS_MAX = 5
const READ_COINS = isQuick ? 6 : 60
const CHECKPOINTS = isQuick ? 3 : 60
/** Documents are saved once a minute, because they are ten times as large as a checkpoint. */
const CHECKPOINTS_PER_DOCUMENTS = isQuick ? 1 : 6
const DOCUMENTS_PER_COIN = 8
const DOCUMENT_BYTES = 8_192
const DOCUMENT_PARTS = 64
/** State of one coin in a checkpoint after an hour: 18 kB. */
const STATE_NUMBERS = 2_300

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 0, 1)
const END_MS = START_MS + DAYS * DAY_MS
const DENSE_MS = 2 * DAY_MS

/** A candidate that stores batches and reads back all rows of a coin. */
type Keeper = {
  /**
   * @param isAll also writes rows that would wait for others of their block
   * @returns the milliseconds for which it blocked the thread
   */
  write(batch: HistoryBatch, nowMs: number, isAll: boolean): Promise<number>
  remove(nowMs: number): void
  read(coin: string): HistoryBatch
  close(): void
}

type Measured = {
  readonly bytes: number
  readonly steadyMs: number
  /** Bytes written in the steady hours; null if the operating system does not count them. */
  readonly steadyBytes: number | null
  readonly readMs: number
  readonly minute: Stopwatch
}

type Stopwatch = ReturnType<typeof stopwatch>

const coins = Array.from({ length: COINS }, (_, at) => `C${at}`)
const folder = mkdtempSync(join(tmpdir(), 'perpscope-bench-'))
const failures: string[] = []
const slices: Record<HistorySlice, Stopwatch> = {
  merged: stopwatch(),
  removed: stopwatch(),
  checked: stopwatch(),
}
const walCheckpoints = walCheckpointThread(
  join(import.meta.dirname, '../src/store/wal-checkpoint-worker.ts'),
)
const checkpointer = walCheckpoints.checkpoint
const recalling = stopwatch()
const opening = stopwatch()
/** Work without disk or allocation: its worst case shows the interruptions by the machine. */
const yard = new Uint8Array(1e6)
const yardstick = stopwatch()

try {
  report(
    await measured(join(folder, 'blocks.db'), blocks),
    await measured(join(folder, 'rows.db'), rows),
    await checkpoints(join(folder, 'engine.db')),
  )
} finally {
  rmSync(folder, { recursive: true })
  walCheckpoints.close()
}
for (const failure of failures) console.log(`failed: ${failure}`)
if (failures.length > 0) process.exitCode = 1

async function measured(path: string, open: (path: string) => Keeper): Promise<Measured> {
  let keeper = open(path)
  // Day by day as in operation, so that old rows are removed while new ones are written.
  for (let fromMs = START_MS; fromMs < END_MS; fromMs += DAY_MS) {
    for (const coin of coins) await keeper.write(dayOf(coin, fromMs), fromMs + DAY_MS, true)
    keeper.remove(fromMs + DAY_MS)
  }
  keeper.close()
  const bytes = statSync(path).size
  keeper = open(path)
  const reading = stopwatch()
  for (const coin of coins.slice(0, READ_COINS)) {
    let found = emptyBatch()
    reading.run(() => {
      found = keeper.read(coin)
    })
    const wanted = sumOf(monthOf(coin))
    if (sumOf(found) !== wanted) failures.push(`${path} gives ${coin} not as it was written`)
  }
  const minute = stopwatch()
  const beforeBytes = bytesWritten()
  for (let at = 0; at < STEADY_MINUTES; at += 1) {
    const nowMs = END_MS + at * MINUTE_MS
    const batch = minuteOf(nowMs)
    const heldMs = await keeper.write(batch, nowMs, false)
    const startMs = performance.now()
    if (nowMs % HOUR_MS === 0) keeper.remove(nowMs)
    minute.ms.push(heldMs + performance.now() - startMs)
    yardstick.run(() => crc32(yard))
  }
  const steadyBytes = beforeBytes === null ? null : (bytesWritten() ?? 0) - beforeBytes
  keeper.close()
  return {
    bytes,
    steadyMs: minute.totalMs,
    steadyBytes,
    readMs: reading.totalMs / READ_COINS,
    minute,
  }
}

function blocks(path: string): Keeper {
  const onNotice = (notice: object) => failures.push(JSON.stringify(notice))
  let store = new HistoryStore({ path, onNotice }, END_MS)
  if (statSync(path).size > 1e6) {
    store.close(END_MS)
    opening.run(() => {
      store = new HistoryStore({ path, onNotice, checkpointer }, END_MS)
    })
    for (const coin of coins)
      for (const series of memorySeries)
        recalling.run(() => storedSeries(store, coin, series, END_MS))
    // The time to fill the file is not measured.
    for (const watch of Object.values(slices)) watch.clear()
  }
  return {
    async write(batch, nowMs, isAll) {
      store.add(batch)
      // Includes the continuous check of the whole file.
      return (await steps(store.write(nowMs, isAll))) + (await steps(store.tidy(nowMs)))
    },
    remove: () => undefined,
    read: (coin) => ({
      bars: store.bars(coin, START_MS).map((bar) => ({ coin, timeframe: '1h', bar })),
      samples: store.samples(coin, START_MS, END_MS),
      fundings: store.fundings(coin, START_MS),
      measures: [],
      droppedRows: 0,
    }),
    close() {
      store.close(END_MS)
      const { droppedRows } = store.health
      if (droppedRows > 0) failures.push(`${droppedRows} rows were dropped`)
    },
  }
}

/** Repeated checkpoints and saves of documents, as in operation. */
async function checkpoints(
  path: string,
): Promise<Readonly<Record<'saved' | 'documents', Stopwatch>>> {
  const { db } = CheckpointDb.open(path, END_MS, checkpointer)
  const watches = { saved: stopwatch(), documents: stopwatch() }
  const states = coins.map((name, at) => [name, new Float64Array(STATE_NUMBERS).fill(at)] as const)
  const { db: documents } = DocumentStore.open(
    {
      path: join(folder, 'documents.db'),
      maker: 'bench',
      isClockNew: false,
      checkpointer,
    },
    END_MS,
  )
  const inSlices = async (work: Generator<unknown>, watch: Stopwatch) => {
    for (;;) {
      const [startMs, startCpuMs] = [performance.now(), cpuMs()]
      const { done } = work.next()
      watch.add(performance.now() - startMs, cpuMs() - startCpuMs)
      if (done) return
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  for (let version = 1; version <= CHECKPOINTS; version += 1) {
    await inSlices(db.save({ version, listings: [], coins: new Map(states) }), watches.saved)
    if (version % CHECKPOINTS_PER_DOCUMENTS !== 0) continue
    documents.add(coins.flatMap((coin) => documentsOf(coin, version)))
    await inSlices(documents.save(), watches.documents)
  }
  if (db.load()?.coins.size !== coins.length) failures.push('the checkpoint lacks coins')
  if ([...documents.load()].length !== coins.length * DOCUMENTS_PER_COIN)
    failures.push('documents are lacking')
  documents.close()
  db.close()
  return watches
}

/** Documents of the size of real ones, 10 kB each, with text, slots and views. */
function documentsOf(coin: string, version: number): readonly PackedDocument[] {
  const parts = Array.from({ length: DOCUMENT_PARTS }, (_, at): Part => {
    const start = at * (DOCUMENT_BYTES / DOCUMENT_PARTS)
    if (at % 4 === 3) return { kind: 'input-age', input: 'candles' }
    return { kind: 'text', start, end: start + DOCUMENT_BYTES / DOCUMENT_PARTS }
  })
  const view = (): View => ({
    kind: 'answer',
    parts: parts.map((_, at) => at),
    inputs: ['candles', 'mark', 'funding'].map((name) => {
      return { name, confirmedAtMs: END_MS, cadenceMs: MINUTE_MS, isLoadBearing: true }
    }),
    coveragePct: 100,
    warnings: [],
  })
  return Array.from({ length: DOCUMENTS_PER_COIN }, (_, at) =>
    packDocument({
      key: `a${at}/${coin}`,
      version,
      renderedAtMs: END_MS,
      bytes: new Uint8Array(DOCUMENT_BYTES).fill(version),
      parts,
      views: Object.fromEntries(['1h', '4h', '1h,4h', '15m'].map((key) => [key, view()])),
    }),
  )
}

/** Runs each slice in its own turn, as the engine does. @returns the milliseconds of all slices */
async function steps(work: Generator<HistorySlice>): Promise<number> {
  let heldMs = 0
  for (;;) {
    const [startMs, startCpuMs] = [performance.now(), cpuMs()]
    const { done, value } = work.next()
    const sliceMs = performance.now() - startMs
    heldMs += sliceMs
    if (done) return heldMs
    slices[value].add(sliceMs, cpuMs() - startCpuMs)
  }
}

/** The usual layout: one row per record with a checksum column; the key is series and time. */
function rows(path: string): Keeper {
  const db = new Database(path)
  db.pragma('locking_mode = EXCLUSIVE')
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec(`
    CREATE TABLE IF NOT EXISTS bar (coin INTEGER, time INTEGER, o REAL, h REAL, l REAL, c REAL, v REAL, crc INTEGER, PRIMARY KEY (coin, time)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sample (coin INTEGER, time INTEGER, mark REAL, oracle REAL, oi REAL, day REAL, funding REAL, premium REAL, spread REAL, impact REAL, crc INTEGER, PRIMARY KEY (coin, time)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS funding (coin INTEGER, time INTEGER, rate REAL, premium REAL, settled INTEGER, crc INTEGER, PRIMARY KEY (coin, time)) WITHOUT ROWID;
  `)
  const putBar = db.prepare('INSERT OR REPLACE INTO bar VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const putSample = db.prepare(
    'INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const putFunding = db.prepare('INSERT OR REPLACE INTO funding VALUES (?, ?, ?, ?, ?, ?)')
  const idOf = (coin: string) => Number(coin.slice(1))
  const barsOf = db
    .prepare<[number], number[]>('SELECT time, o, h, l, c, v FROM bar WHERE coin = ? ORDER BY time')
    .raw()
  const samplesOf = db
    .prepare<[number], number[]>('SELECT * FROM sample WHERE coin = ? ORDER BY time')
    .raw()
  const fundingsOf = db
    .prepare<[number], number[]>('SELECT * FROM funding WHERE coin = ? ORDER BY time')
    .raw()
  const thin = db.prepare(
    `DELETE FROM sample WHERE coin = ? AND time < ? AND time % ${SPARSE_SAMPLE_STEP_MS} <> 0`,
  )
  const write = db.transaction(({ bars, samples, fundings }: HistoryBatch) => {
    for (const { coin, bar } of bars) {
      const { openTimeMs, open, high, low, close, volumeBase } = bar
      putBar.run(idOf(coin), openTimeMs, open, high, low, close, volumeBase, 4e9)
    }
    for (const sample of samples) putSample.run(idOf(sample.coin), ...numbersOf(sample), 4e9)
    for (const { coin, timeMs, rateHourly, premium } of fundings)
      putFunding.run(idOf(coin), timeMs, rateHourly, premium, 1, 4e9)
  })
  return {
    async write(batch) {
      const startMs = performance.now()
      write(batch)
      return performance.now() - startMs
    },
    remove: db.transaction((nowMs: number) => {
      for (const coin of coins) thin.run(idOf(coin), nowMs - DENSE_MS)
    }),
    read: (coin) => ({
      bars: barsOf.all(idOf(coin)).map(([openTimeMs, open, high, low, close, volumeBase]) => ({
        coin,
        timeframe: '1h',
        bar: { openTimeMs, open, high, low, close, volumeBase } as Bar,
      })),
      samples: samplesOf.all(idOf(coin)).map((row) => sampleFrom(coin, row)),
      fundings: fundingsOf.all(idOf(coin)).map(([, timeMs, rateHourly, premium]) => {
        return { coin, timeMs, rateHourly, premium, isSettled: true } as FundingRow
      }),
      measures: [],
      droppedRows: 0,
    }),
    close: () => db.close(),
  }
}

function report(
  ours: Measured,
  usual: Measured,
  checkpoint: Awaited<ReturnType<typeof checkpoints>>,
): void {
  const total = coins.reduce((sum, coin) => sum + sumOf(monthOf(coin)), 0)
  const month = monthOf('C0')
  const rowCount = COINS * (month.bars.length + month.samples.length + month.fundings.length)
  console.log(`${COINS} coins, ${DAYS} days, ${rowCount} rows, checksum ${total.toExponential(9)}`)
  const layouts = new Table({
    style: { head: [], border: [], compact: true },
    head: [
      'layout',
      'file MB',
      'bytes a row',
      'ms a minute',
      'MB written an hour',
      'read ms a coin',
    ],
  })
  for (const [name, { bytes, steadyMs, steadyBytes, readMs }] of [
    ['blocks', ours],
    ['rows', usual],
  ] as const) {
    layouts.push([
      name,
      (bytes / 1e6).toFixed(1),
      (bytes / rowCount).toFixed(0),
      (steadyMs / STEADY_MINUTES).toFixed(1),
      steadyBytes === null ? '?' : ((steadyBytes / STEADY_MINUTES) * 60e-6).toFixed(1),
      readMs.toFixed(2),
    ])
  }
  console.log(layouts.toString())

  const held = new Table({
    style: { head: [], border: [], compact: true },
    head: ['ms at a stretch', 'count', 'p50', 'p99', 'p99.9', 'max', 'ours p99', 'ours p99.9'],
  })
  for (const [name, watch] of [
    ['open the full file', opening],
    ['write 16 blocks', slices.merged],
    ['remove old blocks of 8 coins', slices.removed],
    ['check a table, or 32 blocks', slices.checked],
    ['recall one series of a coin', recalling],
    ['save 4 coins of a checkpoint', checkpoint.saved],
    ['save 4 documents', checkpoint.documents],
    ['rows: a minute at once', usual.minute],
    [`the machine itself: a sum of ${yard.length / 1e6} MB`, yardstick],
  ] as const) {
    held.push([
      name,
      watch.ms.length,
      ...[0.5, 0.99, 0.999, 1].map((share) => quantile(watch.ms, share).toFixed(2)),
      ...[0.99, 0.999].map((share) => quantile(watch.heldMs, share).toFixed(2)),
    ])
  }
  console.log(held.toString())

  goal('rows over blocks, bytes of the file', usual.bytes / ours.bytes, 1)
  goal('rows over blocks, time to read', usual.readMs / ours.readMs, 2)
  if (ours.steadyBytes !== null && usual.steadyBytes !== null)
    goal('rows over blocks, bytes written', usual.steadyBytes / ours.steadyBytes, 2)
  const { saved, documents } = checkpoint
  const all = { ...slices, recalling, saved, documents }
  for (const [name, { heldMs }] of Object.entries(all))
    goal(`${SLICE_MS_MAX} ms over p99.9 of ${name}`, SLICE_MS_MAX / quantile(heldMs, 0.999), 1)
}

function goal(what: string, reached: number, least: number): void {
  const isReached = reached >= least
  const word = isReached ? 'pass' : isQuick ? 'not measured' : 'FAIL'
  console.log(`${word}  ${what}: ${reached.toFixed(2)} (goal ${least})`)
  if (!isReached && !isQuick) failures.push(what)
}

function stopwatch() {
  const ms: number[] = []
  const heldMs: number[] = []
  const add = (passedMs: number, cpuMs: number) => {
    ms.push(passedMs)
    heldMs.push(Math.min(passedMs, cpuMs))
  }
  return {
    ms,
    /**
     * Upper bound of the time for which the task blocked the thread: the smaller of wall time, which may include other
     * processes, and CPU time of all threads, which includes garbage collection. Waiting for the disk when a log begins
     * again counts in wall time only.
     */
    heldMs,
    get totalMs() {
      return ms.reduce((sum, each) => sum + each, 0)
    },
    run<Result>(task: () => Result): Result {
      const [startMs, startCpuMs] = [performance.now(), cpuMs()]
      const result = task()
      add(performance.now() - startMs, cpuMs() - startCpuMs)
      return result
    },
    add,
    clear() {
      ms.length = 0
      heldMs.length = 0
    },
  }
}

/** CPU time of all threads of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function quantile(ms: readonly number[], share: number): number {
  const sorted = ms.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Bytes that this process passed to write calls; null if the system does not count them. */
function bytesWritten(): number | null {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return null
  }
}

/** All stored rows of a coin at the end of the month. */
function monthOf(coin: string): HistoryBatch {
  return historyOf(coin, START_MS, END_MS, END_MS - DENSE_MS)
}

function dayOf(coin: string, fromMs: number): HistoryBatch {
  return historyOf(coin, fromMs, fromMs + DAY_MS, END_MS - DENSE_MS)
}

/** New rows of one minute: a sample of every coin, and bars and funding when they are due. */
function minuteOf(timeMs: number): HistoryBatch {
  const isHour = timeMs % HOUR_MS === 0
  return {
    bars: isHour
      ? coins.map((coin) => ({ coin, timeframe: '1h', bar: barAt(coin, timeMs - HOUR_MS) }))
      : [],
    samples: coins.map((coin) => sampleAt(coin, timeMs)),
    fundings: isHour ? coins.map((coin) => fundingAt(coin, timeMs)) : [],
    measures: [],
    droppedRows: 0,
  }
}

function numbersOf({ coin: _, ...numbers }: MarketSample): number[] {
  return Object.values(numbers).map(Number)
}

/** Sums in reading order, so that the floating-point results are identical. */
function sumOf({ bars, samples, fundings }: HistoryBatch): number {
  let sum = 0
  for (const { bar } of bars) for (const value of Object.values(bar)) sum += value % 1e6
  for (const sample of samples) for (const value of numbersOf(sample)) sum += value % 1e6
  for (const { timeMs, rateHourly, premium } of fundings)
    sum += (timeMs % 1e6) + rateHourly + (premium ?? 0)
  return sum
}
