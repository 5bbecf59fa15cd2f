import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { ConfigError } from '../src/config/config-error.ts'
import type { ReplayOptions } from '../src/config/replay.ts'
import { viewOf, viewsOf } from '../src/domain/document.ts'
import { OperatingError } from '../src/domain/errors.ts'
import type { Recorded } from '../src/engine/recording.ts'
import { documentCrc, restoredExternal } from '../src/engine/recording.ts'
import type { ReplayReport } from '../src/engine/replay.ts'
import { Replay } from '../src/engine/replay.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { replay } from '../src/roles/replay.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { BLOCK_MARK } from '../src/store/frame-log.ts'
import type { FrameLogPiece } from '../src/store/frame-log-reader.ts'
import { readFrameLog } from '../src/store/frame-log-reader.ts'
import { FrameLogWriter } from '../src/store/frame-log-writer.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { batchOf, minutesOf } from '../src/store/testing/history-rows.ts'
import { RECORDED_COINS, RecordedEngine } from './support/recorded-engine.ts'
import type { Ended } from './support/service.ts'
import { fewCoins, runCommand, until } from './support/service.ts'

const MAIN = join(import.meta.dirname, '../dist/main.js')
/** A minute before the end of bars of every timeframe; by then every history is loaded. */
const START_MS = Date.UTC(2026, 0, 1, 11, 59)
const LATE_MS = 8_000
/** By then BTC is answered. */
const LIVE_MS = 30_000
/** Between two readings of a growing recording, some seconds of frames. */
const GROWN_BYTES = 20_000
/** Of a recording whose replay says something. */
const DOCUMENTS_MIN = 100
/** Documents of a coin are rendered every second. */
const RENDERED_MS_MAX = 5_000
/** On a busy machine it comes after the histories. */
const BOOK_OF_BTC = /^\{"channel":"l2Book","data":\{"coin":"BTC"/
/** Measures of the day before the second engine. */
const MEASURES = ['basis/BTC/pyth-hermes', 'basis/ETH/pyth-hermes']

/**
 * Two engines in virtual time, the second from the checkpoint of the first. Connections are cut just before
 * the bars end, and again while the requested histories are in flight.
 */
describe('a recorded engine', () => {
  let folder: string
  let path: string
  let live: RecordedEngine
  let replayed: Replay
  let report: ReplayReport
  /** Everything recorded. */
  let all: readonly Recorded[]
  let endedMs = 0
  let restartedMs = 0

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-recording-'))
    path = join(folder, 'log')
    live = await RecordedEngine.open(folder, path, START_MS)
    live.start()
    await live.run(57)
    live.venue.dropConnections()
    live.replyDelayMs = LATE_MS
    await live.run(4)
    live.venue.dropConnections()
    await live.run(20)
    live.replyDelayMs = 0
    await live.run(29)
    live.stop()
    await live.run(10)
    restartedMs = live.nowMs
    measureBefore(join(folder, 'data'), restartedMs)
    live.start()
    await live.run(60)
    live.stop()
    endedMs = live.nowMs
    await live.close()
    const pieces = [...readFrameLog(path)]
    all = pieces.flatMap(recordedOf)
    replayed = replayOf(pieces)
    report = replayed.report()
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('gives the published documents in a replay', () => {
    expect(report).toMatchObject({
      runs: 2,
      version: '1.2.3',
      documents: live.documents.length,
      publishesCompared: report.publishes,
      divergence: null,
      incompleteSinceMs: null,
      fromMs: START_MS,
      toMs: endedMs,
      spanMs: 170_000,
    })
    expect(live.documents.length).toBeGreaterThan(4_000)
  })

  test('was recorded with the difficult events', () => {
    const starts = all.flatMap(({ entry }) => (entry.kind === 'start' ? [entry] : []))
    expect(starts[0]?.checkpoint).toBeNull()
    expect(starts[1]?.checkpoint?.coins.length).toBe(RECORDED_COINS)
    const kinds = new Set(all.map(({ entry }) => entry.kind))
    for (const kind of ['fundings', 'hours', 'predictions', 'remembered'] as const)
      expect(kinds, kind).toContain(kind)
    const measures = all.flatMap(({ entry }) =>
      entry.kind === 'outside' ? restoredExternal(entry) : [],
    )
    const names = measures.map((event) => 'series' in event && event.series)
    expect(names).toEqual(expect.arrayContaining(MEASURES))
    const lostMs = new Map<string, number>()
    let late = 0
    for (const { atMs, entry } of all) {
      if (entry.kind === 'lost') for (const coin of entry.coins) lostMs.set(coin, atMs)
      if (entry.kind === 'history' && entry.askedMs < (lostMs.get(entry.coin) ?? 0)) late += 1
    }
    expect(lostMs.size, 'connections were lost').toBeGreaterThan(RECORDED_COINS - 2)
    expect(late, 'what was asked over a lost connection was not taken in').toBe(0)
  })

  test('wrote the checksums of its published documents', () => {
    const recorded = all.flatMap(({ entry }) => {
      if (entry.kind === 'publish') return entry.documents
      return entry.kind === 'rendered' ? [entry.document] : []
    })
    expect(recorded).toEqual(live.documents.map((document) => documentCrc(document)))
  })

  test('ends with the answers that a reader would have received', () => {
    const facts = { nowMs: endedMs, executionMs: 0, coinsAvailable: live.replica.coins().length }
    expect(replayed.replica.coins()).toEqual(live.replica.coins())
    let answers = 0
    for (const document of replayed.documents()) {
      const held = live.replica.document(document.key)
      for (const [view, found] of Object.entries(viewsOf(document))) {
        const before = held && viewOf(held, view)
        expect(before?.kind).toBe(found.kind)
        if (held === undefined || found.kind !== 'answer' || before?.kind !== 'answer') continue
        const bytes = fillDocument(document, found, { ...facts, nowMs: replayed.publishedMs })
        expect(bytes.equals(fillDocument(held, before, facts))).toBe(true)
        answers += 1
      }
    }
    expect(answers).toBeGreaterThan(100)
  })

  test('differs from the first document that one changed frame affects', () => {
    const at = all.findIndex(
      ({ atMs, entry }) =>
        atMs > START_MS + LIVE_MS &&
        entry.kind === 'frame' &&
        entry.text.includes('"channel":"l2Book"') &&
        entry.text.includes('"coin":"BTC"'),
    )
    const { atMs, entry } = all[at] ?? {}
    if (atMs === undefined || entry?.kind !== 'frame') throw new Error('no book of BTC')
    // Changes the size of the best bid.
    const text = entry.text.replace(/"sz":"[^"]*"/, '"sz":"123456"')
    const divergence = firstDivergence(all.with(at, { atMs, entry: { ...entry, text } }))
    expect(divergence?.key).toMatch(/^(pulse|spread)\/BTC$/)
    expect(divergence?.atMs).toBeGreaterThanOrEqual(atMs)
    expect(divergence?.atMs).toBeLessThanOrEqual(atMs + 1_000)
  })

  test('differs at an undetected missing entry', () => {
    const at = all.findIndex(
      ({ atMs, entry }) => atMs > START_MS + LIVE_MS && entry.kind === 'publish',
    )
    expect(firstDivergence(all.toSpliced(at, 1))?.atMs).toBeGreaterThan(START_MS + LIVE_MS)
  })

  test('that is damaged is compared up to the damage, and again from the next start on', () => {
    const damaged = join(folder, 'damaged')
    const bytes = readFileSync(path)
    const at = bytes.indexOf(BLOCK_MARK, Math.floor(bytes.length / 3)) + 100
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(damaged, bytes)
    const left = [...readFrameLog(damaged)]
    const cut = replayOf(left).report()
    expect(cut).toMatchObject({ runs: 2, divergence: null })
    expect(cut.incompleteSinceMs).toBeGreaterThan(START_MS)
    expect(cut.incompleteSinceMs).toBeLessThan(restartedMs)
    const lossAt = left.findIndex(({ kind }) => kind === 'loss')
    const whole = [
      ...left.slice(0, lossAt).flatMap(recordedOf),
      ...left.flatMap(recordedOf).filter(({ atMs }) => atMs >= restartedMs),
    ]
    const published = whole.filter(({ entry }) => ['publish', 'rendered'].includes(entry.kind))
    expect(cut.publishesCompared).toBe(published.length)
    expect(cut.publishesCompared).toBeLessThan(report.publishesCompared)
  })

  test('whose start is missing begins with the next one', () => {
    const damaged = join(folder, 'headless')
    const bytes = readFileSync(path)
    const at = bytes.indexOf(BLOCK_MARK) + 50
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(damaged, bytes)
    const headless = replayOf([...readFrameLog(damaged)]).report()
    expect(headless).toMatchObject({
      runs: 1,
      fromMs: restartedMs,
      incompleteSinceMs: null,
      divergence: null,
    })
    expect(headless.entriesSkipped).toBeGreaterThan(1_000)
  })
})

describe.concurrent('perpscope record and replay', () => {
  let folder: string
  let simulator: ReturnType<typeof launch>
  let recording: ReturnType<typeof launch>
  let source: string
  let path: string
  let recorded: string
  /** By the command. */
  let replayed: Ended
  let summary: Summary

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-record-'))
    path = join(folder, 'log')
    simulator = launch(MAIN, ['simulate', ...fewCoins, '--weight-per-minute', '60000'], 'pipe')
    source = (JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }).venue.http
    recording = launch(MAIN, ['record', '--out', path, ...engine('record')], 'pipe')
    const said = firstLineOf(recording)
    await untilRecorded(
      path,
      'every document of BTC was rendered from its whole history',
      hasRendered,
    )
    await end(recording)
    recorded = await said
    expect(recording.exitCode).toBe(0)
    replayed = await runCommand(['replay', path, '--json'])
    summary = JSON.parse(replayed.output) as Summary
  })

  afterAll(async () => {
    if (recording !== undefined) await end(recording)
    await end(simulator)
    rmSync(folder, { recursive: true })
  })

  const engine = (name: string) => [
    ...['--source', source, '--data-dir', join(folder, `${name}-data`)],
    ...['--weight-per-minute', '50000', '--log-level', 'silent'],
  ]

  test('the recording of a real socket replays to the published documents', () => {
    expect(recorded).toMatch(/log: \d+ frames, \d+\.\d MB, \d+ coins ready/)
    expect(replayed).toMatchObject({ code: 0, errors: '' })
    expect(summary).toMatchObject({
      ok: true,
      runs: 1,
      first_difference: null,
      incomplete_since: null,
      losses: [],
    })
    expect(summary.publishes_compared).toBe(summary.publishes)
    expect(summary.documents).toBeGreaterThan(DOCUMENTS_MIN)
  })

  test('prints one document on standard output, and the summary on standard error', () => {
    const { output, errors } = replayedHere(path, { coin: 'btc-perp', analysis: 'spread' })
    expect(JSON.parse(output)).toMatchObject({ coin: 'BTC', meta: { offering: 'service_spread' } })
    expect(errors).toMatch(/^verdict +equal to what was published/m)
  })

  test('writes every view of every document, the same as another process', () => {
    const target = join(folder, 'documents')
    const { output } = replayedHere(path, { hash: true, documents: target })
    expect(output).toBe(`${summary.sha256}\n`)
    expect(existsSync(join(target, 'spread/BTC.json'))).toBe(true)
    const pulse = JSON.parse(readFileSync(join(target, 'pulse/BTC.15m,4h.json'), 'utf8')) as {
      timeframes: object
    }
    expect(Object.keys(pulse.timeframes)).toEqual(['15m', '4h'])
  })

  test('stops at the requested instant', () => {
    const untilMs = Math.floor((Date.parse(summary.from) + Date.parse(summary.to)) / 2)
    const { output } = replayedHere(path, { json: true, until: untilMs })
    const half = JSON.parse(output) as Summary
    expect(half.entries).toBeLessThan(summary.entries)
    expect(Date.parse(half.to)).toBeLessThanOrEqual(untilMs)
    expect(half.ok).toBe(true)
  })

  test('fails and names the document if another one was published', async () => {
    const changed = join(folder, 'changed')
    const onStopped = () => undefined
    const writer = await FrameLogWriter.open(changed, {
      bytesMax: 1e9,
      clock: systemClock,
      onStopped,
    })
    // Until a second after the first documents, which differ.
    const entries = entriesOf(path)
    const isPublished = ({ entry }: Recorded) =>
      entry.kind === 'publish' && entry.documents.length > 0
    const untilMs = (entries.find(isPublished)?.atMs ?? Number.NaN) + 1_000
    for (const { atMs, entry } of entries.filter((recorded) => recorded.atMs <= untilMs)) {
      const documents = entry.kind === 'publish' ? entry.documents.map((crc) => crc ^ 1) : []
      writer.append({ atMs, entry: entry.kind === 'publish' ? { ...entry, documents } : entry })
    }
    await writer.close()
    const { code, errors } = await runCommand(['replay', changed, '--json'])
    expect(code).toBe(1)
    expect(errors).toMatch(/not what was published: first difference at \d{4}-.*: (pulse|spread)\//)
  })

  test('is replayed by a simulated venue', async () => {
    const frames = entriesOf(path)
      .flatMap(({ entry }) => (entry.kind === 'frame' ? [entry.text] : []))
      .filter((frame) => frame.includes('"coin":"BTC"'))
    const again = launch(MAIN, ['simulate', '--frames', path], 'pipe')
    try {
      const { venue } = JSON.parse(await firstLineOf(again)) as { venue: { http: string } }
      // The venue publishes with a delay, so its first states precede the recording.
      await until('a book that was recorded', async () => {
        const reply = await fetch(venue.http, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'l2Book', coin: 'BTC' }),
        })
        const best = ((await reply.json()) as BookReply).levels[0][0]?.px
        return frames.some((frame) => frame.includes(`"${best}"`))
      })
    } finally {
      await end(again)
    }
  })

  test('ends by itself at the maximum file size', async () => {
    const full = join(folder, 'full')
    const args = ['record', '--out', full, '--max-bytes', '100000', ...engine('full')]
    const { code, errors } = await runCommand(args)
    expect(code).toBe(0)
    expect(errors).toContain(`the recording ${full} ends: it has reached 100000 bytes`)
    expect(statSync(full).size).toBeLessThanOrEqual(100_000)
  })

  test('a service that was killed and started again is recorded in one file', async () => {
    const log = join(folder, 'service')
    const args = ['serve', '--payment', 'open', '--port', '0', '--admin-port', '0']
    const start = () => launch(MAIN, [...args, '--record', log, ...engine('serve')], 'ignore')
    const hasPublished = (runs: number) => (entries: readonly Recorded[]) => {
      const starts = entries.filter(({ entry }) => entry.kind === 'start')
      const ofLast = entries.slice(entries.lastIndexOf(starts.at(-1) as Recorded))
      const documents = ofLast.flatMap(({ entry }) =>
        entry.kind === 'publish' ? entry.documents : [],
      )
      return starts.length === runs && documents.length > 100
    }
    const first = start()
    await untilRecorded(log, 'the first service publishes', hasPublished(1))
    await end(first, 'SIGKILL')
    const second = start()
    await untilRecorded(log, 'the second service publishes', hasPublished(2))
    await end(second)
    expect(second.exitCode).toBe(0)
    const ofBoth = JSON.parse(replayedHere(log, { json: true }).output) as Summary
    expect(ofBoth).toMatchObject({ ok: true, runs: 2, incomplete_since: null })
    expect(ofBoth.publishes_compared).toBe(ofBoth.publishes)
    for (const { at_end } of ofBoth.losses) expect(at_end).toBe(false)
  })

  test('a service does not start with an invalid recording', async () => {
    const diary = join(folder, 'diary')
    writeFileSync(diary, 'Dear diary')
    const args = ['serve', '--payment', 'open', '--port', '0', '--admin-port', '0']
    const { code, errors } = await runCommand([...args, '--record', diary, ...engine('diary')])
    expect(code).toBe(1)
    expect(errors).toContain('is not a recording')
    expect(readFileSync(diary, 'utf8')).toBe('Dear diary')
  })

  test.each<[string, string, ReplayOptions, typeof OperatingError | typeof ConfigError, string]>([
    ['an empty file', '', {}, OperatingError, 'is empty'],
    ['a newer format', 'perpscope recording 7\n', {}, OperatingError, 'format 7'],
    ['nothing but a title', 'perpscope recording 3\n', {}, OperatingError, 'holds no start'],
    ['an unknown analysis', '', { coin: 'BTC', analysis: 'x' }, ConfigError, '--analysis x'],
  ])('%s is refused with a reason', (what, text, options, refusal, why) => {
    const file = join(folder, what)
    writeFileSync(file, text)
    const refused = () => replayedHere(file, options)
    expect(refused).toThrow(refusal)
    expect(refused).toThrow(why)
  })

  test.each([
    ['an unknown view', ['--coin', 'BTC', '--view', '3h'], 78, '--view 3h'],
    ['an instant without a zone', ['--until', '2026-01-01T00:00:00'], 2, '--until'],
    ['two answers at once', ['--hash', '--json'], 2, '--hash'],
  ])('the command refuses %s, with an exit code', async (what, args, exitCode, why) => {
    const file = join(folder, what)
    writeFileSync(file, '')
    const { code, output, errors } = await runCommand(['replay', file, ...args])
    expect(code).toBe(exitCode)
    expect(output).toBe('')
    expect(errors).toContain(why)
  })

  test('an unlisted coin has no document', () => {
    const printed = () => replayedHere(path, { coin: 'NOSUCH' })
    expect(printed).toThrow('no coin is called NOSUCH')
  })
})

type BookReply = {
  readonly levels: readonly [readonly { readonly px: string }[], unknown]
}

type Summary = {
  readonly ok: boolean
  readonly from: string
  readonly to: string
  readonly entries: number
  readonly documents: number
  readonly publishes: number
  readonly publishes_compared: number
  readonly sha256: string
  readonly losses: readonly { readonly at_end: boolean }[]
}

/** Stores a day of measures for the next engine, as an earlier one would. */
function measureBefore(dataDir: string, nowMs: number): void {
  const onNotice = () => expect.fail('the history is whole')
  const store = new HistoryStore({ path: join(dataDir, 'history.db'), onNotice }, nowMs)
  const minuteMs = Math.floor(nowMs / 60_000) * 60_000
  for (const series of MEASURES)
    store.add(batchOf({ measures: minutesOf(series, minuteMs - 86_400_000, 1_440) }))
  store.close(nowMs)
}

/** Reads the recording again after it has grown: reading costs more than recording. */
async function untilRecorded(
  path: string,
  what: string,
  holds: (entries: readonly Recorded[]) => boolean,
): Promise<void> {
  let readBytes = 0
  await until(what, async () => {
    const { size } = statSync(path)
    if (size < readBytes + GROWN_BYTES) return false
    readBytes = size
    return holds(entriesOf(path))
  })
}

/**
 * Whether BTC's book and histories were recorded, after them the time in which its documents are rendered again, and enough
 * documents.
 */
function hasRendered(entries: readonly Recorded[]): boolean {
  const historyMs = new Map(
    entries.flatMap(({ atMs, entry }) =>
      entry.kind === 'history' && entry.coin === 'BTC' ? [[entry.timeframe, atMs]] : [],
    ),
  )
  const book = entries.find(({ entry }) => entry.kind === 'frame' && BOOK_OF_BTC.test(entry.text))
  const receivedMs = [historyMs.get('15m'), historyMs.get('4h'), book?.atMs]
  const lastMs = Math.max(...receivedMs.map((ms) => ms ?? Number.NaN))
  const published = entries.flatMap(({ entry }) =>
    entry.kind === 'publish' ? entry.documents : [],
  )
  return (entries.at(-1)?.atMs ?? 0) - lastMs > RENDERED_MS_MAX && published.length > DOCUMENTS_MIN
}

/** `perpscope replay`, in this process. */
function replayedHere(path: string, options: ReplayOptions): Pick<Ended, 'output' | 'errors'> {
  const written: string[] = []
  const errors: string[] = []
  replay(path, options, {
    write: (text) => written.push(text),
    tell: (text) => errors.push(text),
  })
  return { output: written.join(''), errors: errors.join('') }
}

/** Replays no further than to it. */
function firstDivergence(entries: readonly Recorded[]): ReplayReport['divergence'] {
  const replayed = new Replay()
  for (const recorded of entries) {
    replayed.process(recorded)
    if (recorded.entry.kind !== 'publish') continue
    const { divergence } = replayed.report()
    if (divergence !== null) return divergence
  }
  return null
}

function replayOf(pieces: readonly FrameLogPiece[]): Replay {
  const replayed = new Replay()
  for (const piece of pieces) {
    if (piece.kind === 'loss') replayed.noteLoss()
    else for (const recorded of recordedOf(piece)) replayed.process(recorded)
  }
  return replayed
}

function entriesOf(path: string): readonly Recorded[] {
  return [...readFrameLog(path)].flatMap(recordedOf)
}

function recordedOf(piece: FrameLogPiece): readonly Recorded[] {
  return piece.kind === 'values' ? (piece.values as readonly Recorded[]) : []
}
