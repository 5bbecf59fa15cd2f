import { closeSync, openSync, writeSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import type { TrackRecordOptions } from '../config/track-record.ts'
import { OperatingError } from '../domain/errors.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { candleBacktest } from '../engine/candle-backtest.ts'
import type { Recorded } from '../engine/recording.ts'
import { Replay } from '../engine/replay.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { readFrameLog } from '../store/frame-log-reader.ts'

type Cell = { claims: number; voids: number; happened: number; controlHappened: number }

/**
 * `perpscope track-record`: runs the engine over recorded candles, or over a recording, and prints what became of its
 * claims.
 * @throws OperatingError for unreadable data, ConfigError unless one source is given
 */
export function trackRecord(options: TrackRecordOptions, write: (text: string) => void): void {
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = options
  const file = options.write === undefined ? null : openSync(options.write, 'w')
  const cells = new Map<string, Cell>()
  try {
    for (const claim of claimsOf(options)) {
      if (claim.madeAtMs < from || claim.madeAtMs >= until) continue
      if (file !== null) writeSync(file, `${JSON.stringify(claim)}\n`)
      count(cells, claim)
    }
  } finally {
    if (file !== null) closeSync(file)
  }
  write(options.json ? `${JSON.stringify(Object.fromEntries(cells))}\n` : rendered(cells))
}

function claimsOf({ candles, recording, from }: TrackRecordOptions): Iterable<ResolvedClaim> {
  if (candles !== undefined && recording === undefined)
    return candleBacktest([...readCandleFolder(candles)], from)
  if (recording !== undefined && candles === undefined) return recordedClaims(recording)
  throw new ConfigError('give --candles DIR or --recording FILE')
}

function* recordedClaims(path: string): Generator<ResolvedClaim> {
  const replay = new Replay()
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') {
      replay.noteLoss()
      continue
    }
    for (const recorded of piece.values as readonly Recorded[]) replay.process(recorded)
    yield* replay.takeClaims()
  }
  if (replay.report().runs === 0)
    throw new OperatingError('recording_unusable', `${path} holds no start of an engine`)
}

function count(cells: Map<string, Cell>, { rule, horizonMs, outcome }: ResolvedClaim): void {
  const name = `${rule} ${horizonMs / 3_600_000} h`
  const cell = cells.get(name) ?? { claims: 0, voids: 0, happened: 0, controlHappened: 0 }
  cells.set(name, cell)
  cell.claims += 1
  if (outcome.kind === 'void') cell.voids += 1
  if (outcome.kind === 'event' && outcome.happened) cell.happened += 1
  if (outcome.kind === 'event' && outcome.controlHappened) cell.controlHappened += 1
}

function rendered(cells: ReadonlyMap<string, Cell>): string {
  return [...cells]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([name, { claims, voids, happened, controlHappened }]) =>
        `${name.padEnd(24)} claims ${claims}, void ${voids}, happened ${happened}, control ${controlHappened}\n`,
    )
    .join('')
}
