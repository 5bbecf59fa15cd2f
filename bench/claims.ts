/**
 * What claims cost the engine: `node_modules/.bin/tsx bench/claims.ts`. Two processors take the same frames of the
 * simulated venue and the same external prices in turns; one of them makes no claims. `--coins N`; `--hours N` of
 * the day. `--quick` only checks that claims are made, and that they change no answer.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Table from 'cli-table3'
import { fillDocument } from '../src/api/fill-document.ts'
import { documentKinds } from '../src/compute/analyses/registry.ts'
import { renderMarket } from '../src/compute/analyses/render-market.ts'
import type { DocumentKinds } from '../src/compute/analysis.ts'
import type { AnyTrackerKind } from '../src/compute/market/market-state.ts'
import { splitNamed } from '../src/compute/market/saved-sections.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { sharedTrackers } from '../src/compute/shared-trackers.ts'
import { claimKeeper } from '../src/compute/track-record/claim-keeper.ts'
import { madeClaimsDocument } from '../src/compute/track-record/made-claims.ts'
import { trackRecord } from '../src/compute/track-record-statistics/track-record.ts'
import { trackRecordDocument } from '../src/compute/track-record-statistics/track-record-document.ts'
import type { Document, DocumentKey } from '../src/domain/document.ts'
import { viewsOf, WHOLE_MARKET } from '../src/domain/document.ts'
import type { Batch, CandleEvent } from '../src/domain/event.ts'
import { timeframeMs } from '../src/domain/timeframe.ts'
import type { Arrival } from './claims-market.ts'
import { ClaimsMarket } from './claims-market.ts'

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    coins: { type: 'string' },
    hours: { type: 'string' },
  },
})
const isQuick = given.quick
const COINS = Number(given.coins ?? (isQuick ? 2 : 3))
/** Claims are open for up to a day: afterwards as many are resolved as are made. */
const WARM_UP_HOURS = isQuick ? 0.9 : 26
const FRAME_HOURS = isQuick ? 0.9 : 12
const DAY_HOURS = Number(given.hours ?? (isQuick ? 0.05 : 24))

const BAR = 1.05
const SECOND_MS = 1_000
const HOUR_MS = timeframeMs['1h']
const QUARTER_MS = timeframeMs['15m']
const KIB = 1_024
/** Of a tracker, for its memory. */
const COPIES = 50
/** Fixed, and the start of a day. */
const START_MS = Date.UTC(2026, 4, 1)
/** Short enough that the speed of the machine is the same for both. */
const TURN_MS = 10_000
const CHECKPOINT_MS = 10_000
/** Between the measured ticks of a coin, the first of them after the quarter's bar has closed. */
const TICK_MS = 300_000
const TICK_AFTER_MS = 100_000
/** The longest period of a document about a coin, in rounds of one second. */
const ROUNDS = 5

/** The frames whose cost is measured: a tick, and the first one after a quarter of an hour, and after an hour. */
const frameKinds = ['tick', 'quarter', 'hour'] as const
type FrameKind = (typeof frameKinds)[number]

/** Microseconds: from a frame to the coin's updated documents, and of the advance after it. */
type Cost = { readonly documentsUs: number; readonly advanceUs: number }

const costOf = {
  documents: ({ documentsUs }: Cost) => documentsUs,
  advance: ({ advanceUs }: Cost) => advanceUs,
  both: ({ documentsUs, advanceUs }: Cost) => documentsUs + advanceUs,
}

/** Documents that contain nothing but claims and their records. */
const recordKinds: ReadonlySet<string> = new Set(
  [trackRecordDocument, madeClaimsDocument].map(({ contract }) => contract.id),
)
const kindsWithoutRecords: DocumentKinds = {
  ...documentKinds,
  market: documentKinds.market.filter(({ contract }) => !recordKinds.has(contract.id)),
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as (options: object) => void

/** A processor, and what it takes. */
class Candidate {
  readonly processor: Processor
  readonly costs: Readonly<Record<FrameKind, Cost[]>> = { tick: [], quarter: [], hour: [] }
  /** Of the day with everything that the service does, by hour. */
  readonly dayCpuMs: number[] = []
  /** Part of it: documents that contain nothing but claims and records, as often for one coin as for all. */
  recordsMs = 0
  readonly documents = new Map<DocumentKey, Document>()
  /** By rule. */
  readonly resolved = new Map<string, number>()
  readonly #market: DocumentKinds['market']
  readonly #dueMs = new Map<string, number>()

  constructor(processor: Processor, { market }: DocumentKinds) {
    this.processor = processor
    this.#market = market
  }

  /** What the service does once a second at least: otherwise history, and resolved claims, would be kept. */
  tidy(): void {
    this.processor.records.takeHistory()
    for (const { rule } of this.processor.records.takeClaims())
      this.resolved.set(rule, (this.resolved.get(rule) ?? 0) + 1)
  }

  measure(batch: Batch, coin: string, atMs: number): FrameKind {
    const { processor } = this
    // Afterwards nothing is due but what follows from the frame.
    this.#render(coin, atMs)
    this.tidy()
    const started = performance.now()
    processor.process(batch)
    const processUs = microsecondsSince(started)
    const closed = processor.records.takeHistory().bars.map(({ timeframe }) => timeframe)
    const kind = closed.includes('1h') ? 'hour' : closed.includes('15m') ? 'quarter' : 'tick'
    const advanced = performance.now()
    processor.advance(atMs)
    const advanceUs = microsecondsSince(advanced)
    const documentsUs = processUs + this.#render(coin, atMs)
    this.costs[kind].push({ documentsUs, advanceUs })
    return kind
  }

  /** A part of a day as the service runs. @returns CPU time, milliseconds */
  run(arrivals: readonly Arrival[], fromMs: number, untilMs: number): number {
    const before = process.cpuUsage()
    let next = 0
    for (let nowMs = fromMs; nowMs < untilMs; nowMs += PUBLISH_PERIOD_MS / PUBLISH_PHASES) {
      for (; next < arrivals.length && (arrivals[next] as Arrival).atMs <= nowMs; next += 1)
        this.processor.process((arrivals[next] as Arrival).batch)
      for (const document of this.processor.publish(nowMs))
        this.documents.set(document.key, document)
      this.#renderMarket(nowMs)
      if (nowMs % CHECKPOINT_MS === 0) this.#save(nowMs)
    }
    for (; next < arrivals.length; next += 1)
      this.processor.process((arrivals[next] as Arrival).batch)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }

  /** Renders what is due. @returns microseconds for the documents of the coin */
  #render(coin: string, nowMs: number): number {
    let renderedUs = 0
    for (let phase = 0; phase < ROUNDS * PUBLISH_PHASES; phase += 1) {
      const started = performance.now()
      const documents = [...this.processor.publish(nowMs)]
      const tookUs = microsecondsSince(started)
      if (documents.some(({ key }) => key.endsWith(`/${coin}`))) renderedUs += tookUs
    }
    return renderedUs
  }

  #renderMarket(nowMs: number): void {
    const due = this.#market.find(
      ({ contract }) => (this.#dueMs.get(contract.id) ?? nowMs) <= nowMs,
    )
    if (due === undefined) return
    const { contract, periodMs } = due
    this.#dueMs.set(contract.id, nowMs + periodMs)
    const startedMs = performance.now()
    const document = renderMarket(this.processor.gather(contract.id, nowMs))
    this.documents.set(document.key, document)
    if (recordKinds.has(contract.id)) this.recordsMs += performance.now() - startedMs
  }

  #save(nowMs: number): void {
    this.tidy()
    this.processor.records.checkpoint(nowMs)
  }
}

function withClaims(): Candidate {
  return new Candidate(new Processor(documentKinds, '0.0.0'), documentKinds)
}

/** The product always makes claims; a processor reads the list of its trackers only while it is constructed. */
function withoutClaims(): Candidate {
  const trackers = sharedTrackers as AnyTrackerKind[]
  const at = trackers.indexOf(claimKeeper)
  trackers.splice(at, 1)
  const processor = new Processor(kindsWithoutRecords, '0.0.0')
  trackers.splice(at, 0, claimKeeper)
  return new Candidate(processor, kindsWithoutRecords)
}

function main(): void {
  const candidates = [withoutClaims(), withClaims()] as const
  const market = new ClaimsMarket(COINS, START_MS, () => candidates[0].processor.view)
  const framesMs = START_MS + WARM_UP_HOURS * HOUR_MS
  const dayMs = framesMs + FRAME_HOURS * HOUR_MS
  warmUp(candidates, market, START_MS, framesMs)
  note('warm')
  measureFrames(candidates, market, framesMs, dayMs)
  note('frames measured')
  const checksums = measureDay(candidates, market, dayMs, dayMs + DAY_HOURS * HOUR_MS)
  market.stop()
  report(candidates, checksums)
  reportMemory(candidates[1], dayMs + DAY_HOURS * HOUR_MS)
}

function warmUp(
  candidates: readonly Candidate[],
  market: ClaimsMarket,
  fromMs: number,
  untilMs: number,
): void {
  for (let nowMs = fromMs + SECOND_MS; nowMs <= untilMs; nowMs += SECOND_MS) {
    const arrivals = market.until(nowMs)
    for (const candidate of candidates) {
      for (const { batch } of arrivals) candidate.processor.process(batch)
      candidate.processor.advance(nowMs)
      candidate.tidy()
    }
  }
}

function measureFrames(
  candidates: readonly Candidate[],
  market: ClaimsMarket,
  fromMs: number,
  untilMs: number,
): void {
  const openTimeMs = new Map<string, number>()
  const tickMs = new Map<string, number>()
  let turn = 0
  for (let nowMs = fromMs + SECOND_MS; nowMs <= untilMs; nowMs += SECOND_MS) {
    for (const { batch, atMs } of market.until(nowMs)) {
      const candle = batch.find((event) => event.kind === 'candle')
      const isMeasured = candle !== undefined && isWanted(candle, atMs, openTimeMs, tickMs)
      turn += 1
      const order = turn % 2 === 0 ? candidates : candidates.toReversed()
      const kinds = order.map((candidate) =>
        isMeasured
          ? candidate.measure(batch, candle.coin, atMs)
          : candidate.processor.process(batch),
      )
      assert.equal(kinds[0], kinds[1], 'both close the same bars')
    }
    for (const candidate of candidates) {
      candidate.processor.advance(nowMs)
      candidate.tidy()
    }
  }
}

/** Whether the frame is the first one of a bar, or a tick that is due. */
function isWanted(
  { coin, bar }: CandleEvent,
  atMs: number,
  openTimeMs: Map<string, number>,
  tickMs: Map<string, number>,
): boolean {
  const known = openTimeMs.get(coin) ?? bar.openTimeMs
  openTimeMs.set(coin, Math.max(known, bar.openTimeMs))
  if (bar.openTimeMs > known) return true
  const isDue = atMs >= (tickMs.get(coin) ?? 0) && atMs % QUARTER_MS >= TICK_AFTER_MS
  if (isDue) tickMs.set(coin, atMs - ((atMs - TICK_AFTER_MS) % TICK_MS) + TICK_MS)
  return isDue
}

/** @returns the checksums of what the two have answered */
function measureDay(
  candidates: readonly Candidate[],
  market: ClaimsMarket,
  fromMs: number,
  untilMs: number,
): readonly string[] {
  const hashes = candidates.map(() => createHash('sha256'))
  let turn = 0
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += TURN_MS) {
    const endMs = nowMs + TURN_MS
    const arrivals = market.until(endMs)
    turn += 1
    const hour = Math.floor((nowMs - fromMs) / HOUR_MS)
    for (const candidate of turn % 2 === 0 ? candidates : candidates.toReversed())
      candidate.dayCpuMs[hour] =
        (candidate.dayCpuMs[hour] ?? 0) + candidate.run(arrivals, nowMs, endMs)
    if (endMs % HOUR_MS !== 0 && endMs < untilMs) continue
    note(`hour ${hour + 1} of the day`)
    for (const [at, candidate] of candidates.entries())
      hashes[at]?.update(answersOf(candidate, endMs))
  }
  return hashes.map((hash) => hash.digest('hex').slice(0, 16))
}

/** Every answer without the records of its rules, as JSON. */
function answersOf({ documents }: Candidate, nowMs: number): string {
  const answers: unknown[] = []
  for (const key of [...documents.keys()].sort()) {
    const document = documents.get(key)
    if (document === undefined || recordKinds.has(key.slice(0, key.indexOf('/')))) continue
    for (const view of Object.values(viewsOf(document))) {
      if (view.kind !== 'answer') continue
      const facts = { nowMs, executionMs: 0, coinsAvailable: COINS }
      answers.push(JSON.parse(fillDocument(document, { ...view }, facts).toString('utf8')))
    }
  }
  assert(answers.length > 0, 'documents are rendered')
  return JSON.stringify(answers, (name, value) => (name.endsWith('track_record') ? null : value))
}

type Row = {
  readonly name: string
  readonly without: readonly number[]
  readonly with: readonly number[]
  readonly bar?: number
}

function report(candidates: readonly Candidate[], checksums: readonly string[]): void {
  const [without, made] = candidates as readonly [Candidate, Candidate]
  assert.equal(checksums[0], checksums[1], 'claims change no answer')
  assert(made.resolved.size > 0 && without.resolved.size === 0, 'one of them makes claims')
  for (const kind of frameKinds)
    assert(made.costs[kind].length > 0, `a frame of the kind ${kind} is measured`)
  console.log(`sha256 of all answers without records: ${checksums[0]}`)
  if (isQuick) {
    console.log('quick: nothing was measured')
    return
  }

  const frames = (name: string, kind: FrameKind, of: (cost: Cost) => number, bar?: number): Row => {
    const usOf = ({ costs }: Candidate) => costs[kind].map(of)
    return { name, without: usOf(without), with: usOf(made), ...(bar !== undefined && { bar }) }
  }
  const rows: readonly Row[] = [
    frames('a tick: frame to documents', 'tick', costOf.documents, BAR),
    frames('closes 15m: frame to documents', 'quarter', costOf.documents, BAR),
    frames('closes 1h: frame to documents', 'hour', costOf.documents, BAR),
    frames('a tick: advance', 'tick', costOf.advance),
    frames('closes 15m: advance', 'quarter', costOf.advance),
    frames('closes 1h: advance', 'hour', costOf.advance),
    frames('closes 15m: both', 'quarter', costOf.both),
    frames('closes 1h: both', 'hour', costOf.both),
  ]
  const table = new Table({
    head: ['µs', 'frames', 'without claims', 'with', 'ratio', 'bar', 'mean without', 'with'],
    style: { head: [], border: [] },
  })
  for (const row of rows) {
    const [one, other] = [lowerQuartile(row.without), lowerQuartile(row.with)]
    table.push([
      ...[row.name, row.with.length, one.toFixed(1), other.toFixed(1), (other / one).toFixed(3)],
      row.bar === undefined ? '' : verdict(other / one, row.bar),
      ...[meanOf(row.without).toFixed(1), meanOf(row.with).toFixed(1)],
    ])
  }
  console.log(table.toString())
  console.log('lower quartiles of the frames, and means')

  const ratios = made.dayCpuMs.map((cpuMs, hour) => cpuMs / (without.dayCpuMs[hour] as number))
  const [one, other] = [sumOf(without.dayCpuMs), sumOf(made.dayCpuMs)]
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  console.log(
    [
      `${DAY_HOURS} h of ${COINS} coins, CPU: ${seconds(one)} without claims, ${seconds(other)} with`,
      `ratio ${(other / one).toFixed(3)}, ${verdict(other / one, BAR)}`,
      `by hours ${Math.min(...ratios).toFixed(3)}..${Math.max(...ratios).toFixed(3)}`,
      `documents of claims and records, which are the same for any number of coins: ${seconds(made.recordsMs)}`,
    ].join('; '),
  )
  const hours = WARM_UP_HOURS + FRAME_HOURS + DAY_HOURS
  const coinDays = (COINS * hours) / 24
  console.log(
    `resolved claims of a coin and day: ${(sumOf([...made.resolved.values()]) / coinDays).toFixed(0)}, of ${made.resolved.size} rules`,
  )
  console.log([...made.resolved].map(([rule, count]) => `${rule} ${count}`).join(', '))
}

/** Of the open claims, and of their record: in a checkpoint, and on the heap. */
function reportMemory({ processor }: Candidate, nowMs: number): void {
  const sections = splitNamed(processor.records.row(WHOLE_MARKET, nowMs) ?? new Float64Array())
  const kib = (bytes: number) => `${(bytes / KIB).toFixed(1)} KiB`
  for (const kind of [claimKeeper, trackRecord]) {
    const saved = sections?.get(kind.id)
    assert(saved !== undefined, `a checkpoint has ${kind.id}`)
    const copies: unknown[] = []
    const before = heapBytes()
    for (let copy = 0; copy < COPIES; copy += 1) {
      const tracker = kind.create()
      assert(tracker.restore(saved), 'its own state')
      copies.push(tracker)
    }
    const heldBytes = (heapBytes() - before) / copies.length
    console.log(
      `${kind.id} of ${COINS} coins: ${kib(saved.byteLength)} of a checkpoint, ${kib(heldBytes)} of the heap`,
    )
  }
}

function heapBytes(): number {
  // Other kinds leave dead buffers to a thread that frees them later.
  collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function microsecondsSince(startedMs: number): number {
  return 1_000 * (performance.now() - startedMs)
}

function verdict(ratio: number, bar: number): string {
  if (ratio > bar) process.exitCode = 1
  return `<= ${bar} ${ratio <= bar ? 'met' : 'MISSED'}`
}

function note(text: string): void {
  process.stderr.write(`${text}, ${Math.round(process.uptime())} s\n`)
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length
}

function lowerQuartile(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 4)] ?? Number.NaN
}

main()
