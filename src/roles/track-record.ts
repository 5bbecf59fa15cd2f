import { closeSync, openSync, writeSync } from 'node:fs'
import type { RecordCell } from '../compute/track-record-statistics/cell.ts'
import { renderedTable, tableOf } from '../compute/track-record-statistics/table.ts'
import type { TrackRecord } from '../compute/track-record-statistics/track-record.ts'
import { ConfigError } from '../config/config-error.ts'
import type { TrackRecordOptions } from '../config/track-record.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { claimName } from '../domain/track-record.ts'
import { candleBacktest } from '../engine/candle-backtest.ts'
import type { Recorded } from '../engine/recording.ts'
import { Replay } from '../engine/replay.ts'
import { readText } from '../store/candle-file.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { readFrameLog } from '../store/frame-log-reader.ts'

/** Claims of a period and what became of them. */
type Period = {
  readonly fromMs: number
  readonly untilMs: number
  readonly claims: readonly ResolvedClaim[]
  readonly record: TrackRecord
}

/**
 * `perpscope track-record`: runs the engine over recorded candles or a recording, or reads claims, and prints what became
 * of them: of the whole period, and of its second half, on which nothing was chosen that was chosen on the first.
 * @throws OperatingError for unreadable data, ConfigError unless one source is given
 */
export function printTrackRecord(options: TrackRecordOptions, write: (text: string) => void): void {
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = options
  const claims = [...claimsOf(options)].filter(
    ({ madeAtMs }) => madeAtMs >= from && madeAtMs < until,
  )
  if (claims.length === 0) throw new OperatingError('no_claims', 'no claim was resolved')
  if (options.write !== undefined) writeClaims(options.write, claims)
  const periods = periodsOf(claims, options.cells)
  if (options.json) write(`${JSON.stringify({ periods: periods.map(summaryOf) })}\n`)
  else write(periods.map(rendered).join('\n'))
}

function claimsOf(options: TrackRecordOptions): Iterable<ResolvedClaim> {
  const { candles, recording, claims, from } = options
  if ([candles, recording, claims].filter((source) => source !== undefined).length === 1) {
    if (candles !== undefined) return candleBacktest([...readCandleFolder(candles)], from)
    if (recording !== undefined) return recordedClaims(recording)
    if (claims !== undefined) return writtenClaims(claims)
  }
  throw new ConfigError('one of --candles DIR, --recording FILE and --claims FILE is required')
}

/** A claim that a restarted engine resolves, or brings from its checkpoint, again counts once, as in history. */
function* recordedClaims(path: string): Generator<ResolvedClaim> {
  const replay = new Replay()
  const names = new Set<string>()
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') {
      replay.noteLoss()
      continue
    }
    // Title and checksum say that a recorder of this format wrote them.
    for (const recorded of piece.values as readonly Recorded[]) replay.process(recorded)
    for (const claim of replay.takeClaims()) {
      const known = names.size
      if (names.add(claimName(claim)).size > known) yield claim
    }
  }
  if (replay.report().runs === 0)
    throw new OperatingError('recording_unusable', `${path} holds no start of an engine`)
}

function* writtenClaims(path: string): Generator<ResolvedClaim> {
  for (const [at, line] of readText(path).trimEnd().split('\n').entries()) {
    try {
      yield JSON.parse(line) as ResolvedClaim
    } catch (cause) {
      throw new OperatingError('claims_file', `${path}: line ${at + 1} is not JSON`, { cause })
    }
  }
}

function writeClaims(path: string, claims: readonly ResolvedClaim[]): void {
  const file = openSync(path, 'w')
  try {
    for (const claim of claims) writeSync(file, `${JSON.stringify(claim)}\n`)
  } finally {
    closeSync(file)
  }
}

function periodsOf(
  claims: readonly ResolvedClaim[],
  watchedCells: number | undefined,
): readonly Period[] {
  let [fromMs, untilMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { madeAtMs } of claims) {
    fromMs = Math.min(fromMs, madeAtMs)
    untilMs = Math.max(untilMs, madeAtMs)
  }
  const middleMs = (fromMs + untilMs) / 2
  const second = claims.filter(({ madeAtMs }) => madeAtMs >= middleMs)
  const whole = tableOf(claims, watchedCells)
  return [
    { fromMs, untilMs, claims, record: whole },
    { fromMs: middleMs, untilMs, claims: second, record: tableOf(second, whole.watchedCells) },
  ]
}

function rendered({ fromMs, untilMs, claims, record }: Period): string {
  const span = `${isoInstant(fromMs)} to ${isoInstant(untilMs)}`
  const head = `${claims.length} claims made from ${span}, ${record.watchedCells} watched cells`
  return `${head}\n${renderedTable(record)}`
}

function summaryOf({ fromMs, untilMs, claims, record }: Period) {
  return {
    from: isoInstant(fromMs),
    until: isoInstant(untilMs),
    claims: claims.length,
    watched_cells: record.watchedCells,
    cells: record.cells.map(cellMembers),
  }
}

function cellMembers({ key, form, status, figures }: RecordCell) {
  return {
    rule: key.rule,
    horizon_hours: key.horizonMs / 3_600_000,
    coin_class: key.coinClass,
    form,
    status,
    n: figures.observed,
    void: figures.voids,
    days: figures.days,
    n_eff: figures.effective,
    rate: figures.rate,
    control_rate: figures.controlRate,
    lift: figures.lift,
    lift_low: figures.liftLow,
    lift_high: figures.liftHigh,
    skill: figures.skill,
    coverage: figures.coverage,
  }
}
