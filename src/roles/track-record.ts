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
import type { ArchiveReport } from '../engine/archived-liquidations.ts'
import { ArchivedLiquidations } from '../engine/archived-liquidations.ts'
import { candleBacktest, WARM_DAYS } from '../engine/candle-backtest.ts'
import type { Recorded } from '../engine/recording.ts'
import { Replay } from '../engine/replay.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { fillsHours } from '../store/fills-folder.ts'
import { readFrameLog } from '../store/frame-log-reader.ts'
import { KNOWN_LIQUIDATORS } from '../streams/hyperliquid/backfill/vault-refresh.ts'
import type { DrawnProgress } from './drawn-progress.ts'
import { startDrawnProgress } from './drawn-progress.ts'
import type { Output } from './replay.ts'
import { damageOf } from './replay.ts'
import { writtenClaims } from './written-claims.ts'

/** Claims of a period and what became of them. */
type Period = {
  readonly fromMs: number
  readonly untilMs: number
  readonly claims: readonly ResolvedClaim[]
  readonly record: TrackRecord
}

/** Names damage below the line of progress. */
type Report = (damage: string) => void

/**
 * `perpscope track-record`: runs the engine over recorded candles or a recording, or reads claims, and prints what became
 * of them: of the whole period, and of its second half, on which nothing was chosen that was chosen on the first.
 * @throws OperatingError for unreadable data, ConfigError unless one source is given
 */
export async function printTrackRecord(
  options: TrackRecordOptions,
  { write, tell }: Output,
): Promise<void> {
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = options
  const progress = startDrawnProgress()
  const report = (damage: string) => {
    progress.stop()
    tell(`${damage}\n`)
  }
  const archive = archiveOf(options, progress, report)
  const claims: ResolvedClaim[] = []
  try {
    for await (const claim of claimsOf(options, archive, report)) {
      progress.show(() => `claims are resolved until ${isoInstant(claim.resolvedAtMs)}`)
      if (claim.madeAtMs >= from && claim.madeAtMs < until) claims.push(claim)
    }
  } finally {
    progress.stop()
  }
  if (claims.length === 0) throw new OperatingError('no_claims', noClaims(options))
  if (options.write !== undefined) writeClaims(options.write, claims)
  const periods = periodsOf(claims, options.cells)
  const fills = archive?.report()
  if (options.json) {
    const fillsMember = fills === undefined ? {} : { fills: fillsSummary(fills) }
    write(`${JSON.stringify({ ...fillsMember, periods: periods.map(summaryOf) })}\n`)
  } else {
    if (fills !== undefined) write(`${renderedFills(fills)}\n\n`)
    write(periods.map(rendered).join('\n'))
  }
}

function noClaims({ candles, from, until }: TrackRecordOptions): string {
  const when =
    from === undefined && until === undefined ? '' : ' in the period of --from and --until'
  const why =
    candles === undefined
      ? ''
      : `: claims begin ${WARM_DAYS} days after the first bar of any coin, and most take another day`
  return `no claim was resolved${when}${why}`
}

function archiveOf(
  { fills, claims }: TrackRecordOptions,
  progress: DrawnProgress,
  report: Report,
): ArchivedLiquidations | undefined {
  if (fills === undefined) return undefined
  if (claims !== undefined) throw new ConfigError('--fills needs --candles or --recording')
  const vaults = new Set(KNOWN_LIQUIDATORS)
  return new ArchivedLiquidations({
    hours: fillsHours(fills),
    isVault: (account) => vaults.has(account),
    onFile: (path) => progress.show(() => `reading ${path}`),
    onDamage: (text) => report(`${text}: liquidations around it are not covered`),
  })
}

function claimsOf(
  { candles, recording, claims, from }: TrackRecordOptions,
  archive: ArchivedLiquidations | undefined,
  report: Report,
): Iterable<ResolvedClaim> | AsyncIterable<ResolvedClaim> {
  if ([candles, recording, claims].filter((source) => source !== undefined).length === 1) {
    if (candles !== undefined) return candleBacktest([...readCandleFolder(candles)], from, archive)
    if (recording !== undefined) return recordedClaims(recording, archive, report)
    if (claims !== undefined) return writtenClaims(claims)
  }
  throw new ConfigError('one of --candles DIR, --recording FILE and --claims FILE is required')
}

/** A claim that a restarted engine resolves, or brings from its checkpoint, again counts once, as in history. */
async function* recordedClaims(
  path: string,
  archive: ArchivedLiquidations | undefined,
  report: Report,
): AsyncGenerator<ResolvedClaim> {
  const replay = new Replay()
  const names = new Set<string>()
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') {
      replay.noteLoss()
      report(`${path} is damaged: ${damageOf(piece)}; claims around it may be missing`)
      continue
    }
    // Title and checksum say that a recorder of this format wrote them.
    for (const recorded of piece.values as readonly Recorded[]) {
      if (archive?.isDue(recorded.atMs))
        for await (const batch of archive.until(recorded.atMs)) replay.add(batch)
      replay.process(recorded)
    }
    for (const claim of replay.takeClaims()) {
      const known = names.size
      if (names.add(claimName(claim)).size > known) yield claim
    }
  }
  if (replay.report().runs === 0)
    throw new OperatingError('recording_unusable', `${path} holds no start of an engine`)
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

function renderedFills(report: ArchiveReport): string {
  const { files, liquidations, coveredMs, fromMs, untilMs, linesUnreadable, linesDropped } = report
  const span =
    fromMs === null || untilMs === null
      ? 'no time'
      : `${hoursOf(coveredMs)} h between ${isoInstant(fromMs)} and ${isoInstant(untilMs)}`
  const damaged = linesUnreadable + linesDropped
  return `${liquidations} liquidation fills in ${files} files, which cover ${span}; ${damaged} damaged lines`
}

function fillsSummary(report: ArchiveReport) {
  const { files, liquidations, coveredMs, fromMs, untilMs, linesUnreadable, linesDropped } = report
  return {
    ...{ files, liquidations },
    covered_hours: hoursOf(coveredMs),
    from: fromMs === null ? null : isoInstant(fromMs),
    until: untilMs === null ? null : isoInstant(untilMs),
    lines_unreadable: linesUnreadable,
    lines_with_invalid_fills: linesDropped,
  }
}

/** With two decimals. */
function hoursOf(timeMs: number): number {
  return Math.round(timeMs / 36_000) / 100
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
