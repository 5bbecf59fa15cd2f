import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fillDocument } from '../api/fill-document.ts'
import { contracts } from '../compute/analyses/registry.ts'
import { ConfigError } from '../config/config-error.ts'
import { version } from '../config/environment.ts'
import type { ReplayOptions } from '../config/replay.ts'
import { UsageError } from '../config/usage.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { keyOf, viewKeyOf } from '../domain/contract.ts'
import type { Answer, Document, NoAnswer } from '../domain/document.ts'
import { viewOf, viewsOf } from '../domain/document.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import type { Recorded } from '../engine/recording.ts'
import type { ReplayReport } from '../engine/replay.ts'
import { Replay } from '../engine/replay.ts'
import type { FrameLogLoss } from '../store/frame-log-reader.ts'
import { readFrameLog } from '../store/frame-log-reader.ts'
import { startDrawnProgress } from './drawn-progress.ts'
import { systemClock } from './system-clock.ts'

export type Output = {
  /** Standard output: what was asked for. */
  readonly write: (text: string) => void
  /** Standard error: what else there is to say. */
  readonly tell: (text: string) => void
}

/** What cannot be told by the engine that ran again. */
type Circumstances = {
  readonly path: string
  readonly elapsedMs: number
  readonly losses: readonly FrameLogLoss[]
}

/**
 * `perpscope replay`: runs a recording through the engine as fast as it goes.
 *
 * @throws OperatingError when the file is no recording, when the asked document has no answer, and,
 * after all output, when the documents are not those that the recorded engine published.
 */
export function replay(path: string, options: ReplayOptions, { write, tell }: Output): void {
  const asked = askedOf(options)
  const startedAtMs = systemClock.nowMs()
  const replayed = new Replay()
  const losses = run(replayed, path, options.until ?? Number.POSITIVE_INFINITY)
  const report = replayed.report()
  const circumstances = { path, elapsedMs: systemClock.nowMs() - startedAtMs, losses }
  if (report.runs === 0) {
    const before = options.until === undefined ? '' : ` up to --until ${iso(options.until)}`
    throw new OperatingError('recording_unusable', `${path} holds no start of an engine${before}`)
  }

  const summary = options.json
    ? `${JSON.stringify(summaryOf(report, circumstances))}\n`
    : rendered(report, circumstances)
  if (options.documents !== undefined) {
    const files = writeDocuments(replayed, options.documents)
    tell(`${files} files written to ${options.documents}\n`)
  }
  if (options.hash) {
    write(`${report.hash}\n`)
    if (losses.length > 0) tell(`${verdictOf(report)}\n`)
  } else if (asked === null) write(summary)
  else {
    tell(summary)
    write(`${documentOf(replayed, asked)}\n`)
  }
  if (report.divergence !== null)
    throw new OperatingError('replay_diverged', `not what was published: ${verdictOf(report)}`)
}

function run(replayed: Replay, path: string, untilMs: number): readonly FrameLogLoss[] {
  const losses: FrameLogLoss[] = []
  const progress = startDrawnProgress()
  try {
    for (const piece of readFrameLog(path)) {
      if (piece.kind === 'loss') {
        losses.push(piece)
        replayed.noteLoss()
        continue
      }
      // Title and checksum say that a recorder of this format wrote them.
      for (const recorded of piece.values as readonly Recorded[]) {
        if (recorded.atMs > untilMs) return losses
        replayed.process(recorded)
      }
      progress.show(() => `replayed until ${iso(replayed.report().toMs)}`)
    }
    return losses
  } finally {
    progress.stop()
  }
}

type Asked = {
  readonly ticker: string
  readonly contract: AnalysisContract
  readonly view: string
}

/** @throws ConfigError for what no recording could answer. */
function askedOf({ coin, analysis: given, view }: ReplayOptions): Asked | null {
  if (coin === undefined) {
    if (view !== undefined || given !== undefined)
      throw new UsageError('--analysis and --view need --coin')
    return null
  }
  const analysis = given ?? 'pulse'
  const contract = contracts.find(({ id }) => id === analysis)
  if (contract === undefined)
    throw new ConfigError(
      `--analysis ${analysis} is none of ${contracts.map(({ id }) => id).join(', ')}`,
    )
  if (view !== undefined && contract.viewParameters.length === 0)
    throw new ConfigError(`${analysis} has one view only: leave out --view`)
  const key = viewKeyOf(contract, rawValues(contract, view))
  if (typeof key !== 'string')
    throw new ConfigError(`--view ${view} is no view of ${analysis}: ${key.name} ${key.rule}`)
  return { ticker: coin, contract, view: key }
}

/** The value of the only parameter, or a query string of several: `view=compact&top_n=10`. */
function rawValues({ viewParameters }: AnalysisContract, view: string | undefined) {
  const query = new URLSearchParams(view)
  return (name: string) => (viewParameters.length === 1 ? view : (query.get(name) ?? undefined))
}

function documentOf(replayed: Replay, { ticker, contract, view }: Asked): string {
  const coin = replayed.replica.resolve(ticker)?.coin
  if (coin === undefined) throw new OperatingError('no_document', `no coin is called ${ticker}`)
  const key = keyOf(contract, coin)
  const document = replayed.replica.document(key)
  const found = document && viewOf(document, view)
  if (document === undefined || found === undefined)
    throw new OperatingError('no_document', `${key} had not been published yet`)
  if (found.kind !== 'answer')
    throw new OperatingError('no_document', `${key} had no answer: ${reasonOf(found)}`)
  return filled(replayed, document, found).toString('utf8')
}

function reasonOf(reason: NoAnswer): string {
  switch (reason.kind) {
    case 'insufficient-candles':
      return `${reason.have} of ${reason.need} candles of ${reason.timeframe}`
    case 'missing-input':
      return `the ${reason.input} was missing`
    case 'low-coverage':
      return `${reason.have} of ${reason.need} ${reason.missing}`
    case 'not-covered':
      return 'no source knew the coin'
    default:
      return reason satisfies never
  }
}

/** @returns the bytes that the gateway would have sent at the last publish */
function filled(
  { publishedMs: nowMs, replica }: Replay,
  document: Document,
  answer: Answer,
): Buffer {
  const coinsAvailable = replica.coins().length
  return fillDocument(document, answer, { nowMs, executionMs: 0, coinsAvailable })
}

/** @returns how many files: `<analysis>/<coin>.json`, or `<analysis>/<coin>.<view>.json`. */
function writeDocuments(replayed: Replay, folder: string): number {
  let files = 0
  for (const document of replayed.documents()) {
    for (const [view, found] of Object.entries(viewsOf(document))) {
      if (found.kind !== 'answer') continue
      const path = join(folder, `${nameOf(document)}${view === '' ? '' : `.${view}`}.json`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, filled(replayed, document, found))
      files += 1
    }
  }
  return files
}

/** The venue chooses the names of its coins, and not where our files lie. */
function nameOf({ key }: Document): string {
  const at = key.indexOf('/')
  return join(key.slice(0, at), encodeURIComponent(key.slice(at + 1)))
}

/** The JSON form. Members that count bytes or time say so. */
function summaryOf(report: ReplayReport, { path, elapsedMs, losses }: Circumstances) {
  return {
    file: path,
    ok: report.divergence === null,
    recorded_by: report.version,
    replayed_by: version,
    runs: report.runs,
    from: iso(report.fromMs),
    to: iso(report.toMs),
    span_ms: report.spanMs,
    elapsed_ms: elapsedMs,
    times_as_fast: speedOf(report, elapsedMs),
    entries: report.entries,
    entries_skipped: report.entriesSkipped,
    frames: report.frames,
    publishes: report.publishes,
    publishes_compared: report.publishesCompared,
    documents: report.documents,
    sha256: report.hash,
    first_difference:
      report.divergence === null
        ? null
        : { at: iso(report.divergence.atMs), document: report.divergence.key },
    incomplete_since: iso(report.incompleteSinceMs),
    losses: losses.map(({ atByte, bytes, isTail }) => ({
      at_byte: atByte,
      bytes,
      at_end: isTail,
    })),
  }
}

function rendered(report: ReplayReport, circumstances: Circumstances): string {
  const { path, elapsedMs, losses } = circumstances
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const rows: readonly (readonly [string, string])[] = [
    ['recording', `${path}, by perpscope ${report.version}, engine starts: ${report.runs}`],
    ['span', `${iso(report.fromMs)} to ${iso(report.toMs)}, ${seconds(report.spanMs)}`],
    ['replayed', `in ${seconds(elapsedMs)}, ${speedOf(report, elapsedMs)} times as fast`],
    ['entries', `${report.entries}, ${report.frames} of them frames`],
    ['documents', `${report.documents} in ${report.publishes} publishes`],
    ['sha-256', report.hash],
    ['verdict', verdictOf(report)],
    ...losses.map((loss) => ['damage', damageOf(loss)] as const),
    ...(report.entriesSkipped === 0
      ? []
      : [['skipped', `${report.entriesSkipped} entries before the first start`] as const]),
  ]
  return rows.map(([name, text]) => `${name.padEnd(10)} ${text}\n`).join('')
}

function verdictOf({
  divergence,
  incompleteSinceMs,
  publishesCompared,
  publishes,
  version: recordedBy,
}: ReplayReport): string {
  if (divergence !== null) {
    const what = divergence.key ?? 'a document that did not come out now'
    const by = recordedBy === version ? '' : `; recorded by ${recordedBy}, replayed by ${version}`
    return `first difference at ${iso(divergence.atMs)}: ${what}${by}`
  }
  const equal = `equal to what was published, in ${publishesCompared} of ${publishes} publishes`
  return incompleteSinceMs === null
    ? equal
    : `${equal}; not whole from ${iso(incompleteSinceMs)} on`
}

export function damageOf({ atByte, bytes, isTail }: FrameLogLoss): string {
  if (isTail) return `the last ${bytes} bytes are torn`
  return bytes === 0 ? `blocks are missing at byte ${atByte}` : `${bytes} bytes from ${atByte} on`
}

function speedOf({ spanMs }: ReplayReport, elapsedMs: number): number {
  return Math.round(spanMs / Math.max(1, elapsedMs))
}

function iso(timeMs: number): string
function iso(timeMs: number | null): string | null
function iso(timeMs: number | null): string | null {
  return timeMs === null ? null : isoInstant(timeMs)
}
