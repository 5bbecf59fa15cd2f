import { OperatingError } from '../domain/errors.ts'
import type { Batch } from '../domain/event.ts'
import { isoInstant } from '../domain/instant.ts'
import type { FillsHour } from '../store/fills-folder.ts'
import { linesOf } from '../store/fills-folder.ts'
import type { LiquidationFill } from '../streams/hyperliquid/wire/liquidation-fills.ts'
import { liquidationEvents } from '../streams/hyperliquid/wire/liquidation-fills.ts'
import type { CoveredSpan, FillGap } from '../streams/liquidations/node-fills.ts'
import { NodeFills } from '../streams/liquidations/node-fills.ts'

export type ArchiveOptions = {
  /** Ascending. */
  readonly hours: readonly FillsHour[]
  /** Whether an account is a liquidator vault of the venue. */
  readonly isVault: (account: string) => boolean
  readonly onFile: (path: string) => void
  /** Called once for each file that is damaged or has another layout. */
  readonly onDamage: (text: string) => void
}

export type ArchiveReport = {
  readonly files: number
  readonly linesUnreadable: number
  readonly linesDropped: number
  /** Trades that were given. */
  readonly liquidations: number
  readonly coveredMs: number
  /** null without any covered time. */
  readonly fromMs: number | null
  readonly untilMs: number | null
}

const HOUR_MS = 3_600_000
/** Between two statements of what is covered, as of a live source. */
const STATED_PERIOD_MS = 10_000

/**
 * The liquidations of the venue's archive as events of a source that misses none, in the order of time and never before
 * their time. At most two hours of liquidations are in memory.
 */
export class ArchivedLiquidations {
  readonly #options: ArchiveOptions
  readonly #reader = new NodeFills()
  #hours: readonly FillsHour[]
  /** Not given yet, ascending. */
  #fills: readonly LiquidationFill[] = []
  #spans: readonly CoveredSpan[] = []
  /** Not given yet, ascending. */
  #gaps: readonly FillGap[] = []
  #dueMs = Number.NEGATIVE_INFINITY
  readonly #counts = { files: 0, unreadable: 0, dropped: 0, liquidations: 0, coveredMs: 0 }
  #fromMs: number | null = null
  #untilMs: number | null = null

  constructor(options: ArchiveOptions) {
    this.#options = options
    this.#hours = options.hours
  }

  /** Whether {@link until} may have something to give. */
  isDue(atMs: number): boolean {
    return atMs >= this.#dueMs
  }

  /**
   * What happened since the last call, which may be long ago, in the order of time. The first one begins with its hour.
   * @throws OperatingError for a file that cannot be read
   */
  async *until(atMs: number): AsyncGenerator<Batch> {
    const isFirst = this.#dueMs === Number.NEGATIVE_INFINITY
    if (isFirst) this.#hours = this.#hours.filter(({ startMs }) => startMs + HOUR_MS > atMs)
    for (
      let hour = this.#hours[0];
      hour !== undefined && hour.startMs <= atMs;
      hour = this.#hours[0]
    ) {
      // The last fills of an hour can be in the file of the next one.
      const before = this.#given(hour.startMs - HOUR_MS, atMs)
      if (before.length > 0) yield before
      this.#hours = this.#hours.slice(1)
      await this.#read(hour)
    }
    const batch = this.#given(atMs, atMs)
    this.#dueMs = Math.min(atMs + STATED_PERIOD_MS, this.#fills[0]?.timeMs ?? Infinity)
    if (batch.length > 0) yield batch
  }

  report(): ArchiveReport {
    const { unreadable, dropped, ...counts } = this.#counts
    const times = { fromMs: this.#fromMs, untilMs: this.#untilMs }
    return { ...counts, ...times, linesUnreadable: unreadable, linesDropped: dropped }
  }

  #given(untilMs: number, atMs: number): Batch {
    const at = { timeExchangeMs: atMs, timeReceivedMs: atMs }
    const covered = this.#coveredUntil(untilMs)
    const lost = this.#gaps.filter(({ fromMs }) => fromMs < untilMs)
    this.#gaps = this.#gaps.slice(lost.length)
    const fills = this.#fillsUntil(untilMs)
    const liquidations = liquidationEvents(fills, this.#options.isVault, atMs)
    this.#counts.liquidations += liquidations.length
    return [
      ...covered.map((span) => ({ kind: 'liquidation-feed', ...span, ...at }) as const),
      ...lost.map((gap) => ({ kind: 'liquidation-gap', ...gap, ...at }) as const),
      ...liquidations,
    ]
  }

  async #read({ startMs, paths }: FillsHour): Promise<void> {
    for (const path of paths) {
      this.#options.onFile(path)
      this.#counts.files += 1
      await this.#readFile(path, startMs)
    }
    const { fills, spans, gaps } = this.#reader.take()
    this.#spans = [...this.#spans, ...spans]
    this.#gaps = [...this.#gaps, ...gaps].sort((one, other) => one.fromMs - other.fromMs)
    this.#fills = [...this.#fills, ...fills].sort((one, other) => one.timeMs - other.timeMs)
  }

  async #readFile(path: string, startMs: number): Promise<void> {
    let [number, readable] = [0, 0]
    let damage: string | null = null
    const undo = this.#reader.mark()
    try {
      for await (const lines of linesOf(path))
        for (const line of lines) {
          number += 1
          if (line === '') continue
          const state = this.#reader.read(line, startMs)
          if (state !== 'unreadable') readable += 1
          if (state === 'read') continue
          this.#counts[state] += 1
          damage ??= `${path}:${number} has ${state === 'dropped' ? 'an invalid fill' : 'no fills'}`
        }
      if (readable === 0) damage = damage === null ? `${path} is empty` : otherLayout(path, startMs)
    } catch (cause) {
      if (!(cause instanceof OperatingError)) throw cause
      if (cause.code === 'fills_corrupt') {
        undo()
        damage = cause.message
      } else if (cause.code === 'fills_damaged') {
        this.#reader.lose()
        damage ??= `${cause.message} after line ${number}`
      } else throw cause
    }
    if (damage !== null) this.#options.onDamage(damage)
  }

  #coveredUntil(atMs: number): readonly CoveredSpan[] {
    const covered = this.#spans
      .filter(({ fromMs }) => fromMs < atMs)
      .map(({ fromMs, untilMs }) => ({ fromMs, untilMs: Math.min(untilMs, atMs) }))
    this.#spans = this.#spans
      .filter(({ untilMs }) => untilMs > atMs)
      .map(({ fromMs, untilMs }) => ({ fromMs: Math.max(fromMs, atMs), untilMs }))
    for (const { fromMs, untilMs } of covered) {
      this.#counts.coveredMs += untilMs - fromMs
      this.#fromMs ??= fromMs
      this.#untilMs = untilMs
    }
    return covered
  }

  #fillsUntil(atMs: number): readonly LiquidationFill[] {
    const later = this.#fills.findIndex(({ timeMs }) => timeMs > atMs)
    const count = later < 0 ? this.#fills.length : later
    const due = this.#fills.slice(0, count)
    this.#fills = this.#fills.slice(count)
    return due
  }
}

function otherLayout(path: string, startMs: number): string {
  const hour = isoInstant(startMs).slice(0, 13)
  return `${path} has no line of node_fills or node_fills_by_block of the hour ${hour}`
}
