import { OperatingError } from '../domain/errors.ts'
import type { Batch } from '../domain/event.ts'
import { isoInstant } from '../domain/instant.ts'
import type { FillsHour } from '../store/fills-folder.ts'
import { linesOf } from '../store/fills-folder.ts'
import type { LiquidationFill } from '../streams/hyperliquid/wire/liquidation-fills.ts'
import { liquidationEvents } from '../streams/hyperliquid/wire/liquidation-fills.ts'
import type { CoveredSpan } from '../streams/liquidations/node-fills.ts'
import { NodeFills } from '../streams/liquidations/node-fills.ts'

export type ArchiveOptions = {
  /** Ascending. */
  readonly hours: readonly FillsHour[]
  /** Whether an account is a liquidator vault of the venue. */
  readonly isVault: (account: string) => boolean
  readonly onFile: (path: string) => void
  /** Called once for each file with a damaged line or end. */
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
 * their time. One hour of liquidations is in memory.
 */
export class ArchivedLiquidations {
  readonly #options: ArchiveOptions
  readonly #reader = new NodeFills()
  #hours: readonly FillsHour[]
  /** Not given yet, ascending. */
  #fills: readonly LiquidationFill[] = []
  #spans: readonly CoveredSpan[] = []
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
   * What happened since the last call. The first one begins with its hour.
   * @throws OperatingError for an unreadable file, and naming the line for one of another layout
   */
  async until(atMs: number): Promise<Batch> {
    const isFirst = this.#dueMs === Number.NEGATIVE_INFINITY
    if (isFirst) this.#hours = this.#hours.filter(({ startMs }) => startMs + HOUR_MS > atMs)
    for (
      let hour = this.#hours[0];
      hour !== undefined && hour.startMs <= atMs;
      hour = this.#hours[0]
    ) {
      this.#hours = this.#hours.slice(1)
      await this.#read(hour)
    }
    const at = { timeExchangeMs: atMs, timeReceivedMs: atMs }
    const covered = this.#coveredUntil(atMs)
    const due = this.#fillsUntil(atMs)
    this.#dueMs = Math.min(atMs + STATED_PERIOD_MS, this.#fills[0]?.timeMs ?? Infinity)
    const liquidations = liquidationEvents(due, this.#options.isVault, atMs)
    this.#counts.liquidations += liquidations.length
    return [
      ...covered.map((span) => ({ kind: 'liquidation-feed', ...span, ...at }) as const),
      ...liquidations,
    ]
  }

  report(): ArchiveReport {
    const { unreadable, dropped, ...counts } = this.#counts
    const times = { fromMs: this.#fromMs, untilMs: this.#untilMs }
    return { ...counts, ...times, linesUnreadable: unreadable, linesDropped: dropped }
  }

  async #read({ startMs, paths }: FillsHour): Promise<void> {
    for (const path of paths) {
      this.#options.onFile(path)
      this.#counts.files += 1
      await this.#readFile(path, startMs)
    }
    const { fills, spans } = this.#reader.take()
    this.#spans = [...this.#spans, ...spans]
    // The last fills of an hour can be in the file of the next one.
    this.#fills = [...this.#fills, ...fills].sort((one, other) => one.timeMs - other.timeMs)
  }

  async #readFile(path: string, startMs: number): Promise<void> {
    let number = 0
    let damage: string | null = null
    try {
      for await (const lines of linesOf(path))
        for (const line of lines) {
          number += 1
          if (line === '') continue
          const state = this.#reader.read(line, startMs)
          if (state === 'read') continue
          if (number === 1 && state === 'unreadable') throw wrongLayout(path, startMs)
          this.#counts[state] += 1
          damage ??= `${path}:${number} has ${state === 'dropped' ? 'an invalid fill' : 'no fills'}`
        }
    } catch (cause) {
      if (!(cause instanceof OperatingError && cause.code === 'fills_damaged')) throw cause
      damage ??= `${cause.message} after line ${number}`
    }
    if (number === 0) damage ??= `${path} is empty`
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

function wrongLayout(path: string, startMs: number): OperatingError {
  const hour = isoInstant(startMs).slice(0, 13)
  return new OperatingError(
    'fills_file',
    `${path}:1 is not a line of node_fills or node_fills_by_block of the hour ${hour}`,
  )
}
