import type { Claim, ResolvedClaim } from '../../domain/track-record.ts'
import type { MarketState, MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import { DAY_MS } from './blocks.ts'
import type { CellKey } from './cell.ts'
import { RecordCell } from './cell.ts'
import type { Form } from './figures.ts'

/** Raised when the meaning of a saved number changes; the record then begins without one, so it must not. */
const LAYOUT = 1
/** Rules, horizons and classes together, dead rules included; claims of further ones are not recorded. */
const CELLS_MAX = 512
/** Every class of coins has a draw of a rule on most days. */
const UNCLAIMED_AFTER_MS = 2 * DAY_MS
/** A rule that made no claim for this long is dead. */
const DEAD_AFTER_MS = 30 * DAY_MS

/** The record of every rule. The tracker of claims passes each claim when it is made and when it is resolved. */
export class TrackRecord implements MarketTracker {
  readonly #cells = new Map<string, RecordCell>()
  readonly #watchedCellsMin: number
  /** When the next day of any cell can be closed: few advances of the market close one. */
  #dueMs = Number.POSITIVE_INFINITY

  /** @param watchedCellsMin number of cells of which the claims are a part; the evidence for a status grows with it */
  constructor(watchedCellsMin = 0) {
    this.#watchedCellsMin = watchedCellsMin
  }

  /** Number of cells by which the evidence for a status is corrected. */
  get watchedCells(): number {
    return Math.max(this.#watchedCellsMin, this.#cells.size)
  }

  made(claim: Claim): void {
    this.#cell(claim, claim.statement.form, claim.madeAtMs)?.made(claim.madeAtMs)
  }

  resolved(claim: ResolvedClaim): void {
    const cell = this.#cell(claim, claim.statement.form, claim.madeAtMs)
    cell?.resolved(claim)
    this.#note(cell)
  }

  /** An occasion on which a rule makes no claim, such as a neutral bias. Not counted before its first claim. */
  abstained(key: CellKey, atMs: number): void {
    const cell = this.cell(key)
    cell?.abstained(atMs)
    this.#note(cell)
  }

  advance({ venueMs }: Pick<MarketState, 'venueMs'>): void {
    if (!(venueMs >= this.#dueMs)) return
    this.#dueMs = Number.POSITIVE_INFINITY
    for (const cell of this.#cells.values()) {
      while (cell.dueMs <= venueMs) cell.closeDay(this.watchedCells)
      this.#note(cell)
    }
  }

  /** undefined before the first claim. */
  cell(key: CellKey): RecordCell | undefined {
    return this.#cells.get(nameOf(key))
  }

  /** In the order of their first claims. */
  get cells(): readonly RecordCell[] {
    return [...this.#cells.values()]
  }

  save(): Float64Array {
    return joinSections([[LAYOUT], ...Array.from(this.#cells.values(), (cell) => cell.save())])
  }

  restore(saved: Float64Array): boolean {
    const [layout, ...sections] = splitSections(saved) ?? []
    if (layout?.[0] !== LAYOUT) return false
    const cells = sections.map((section) => RecordCell.restore(section))
    if (cells.includes(null)) return false
    this.#cells.clear()
    this.#dueMs = Number.POSITIVE_INFINITY
    for (const cell of cells) {
      if (cell === null) continue
      this.#cells.set(nameOf(cell.key), cell)
      this.#note(cell)
    }
    return true
  }

  #note(cell: RecordCell | undefined): void {
    if (cell !== undefined) this.#dueMs = Math.min(this.#dueMs, cell.dueMs)
  }

  #cell(key: CellKey, form: Form, atMs: number): RecordCell | undefined {
    const name = nameOf(key)
    const known = this.#cells.get(name)
    if (known !== undefined || this.#cells.size >= CELLS_MAX) return known
    const { rule, horizonMs, coinClass } = key
    const begun = new RecordCell({ rule, horizonMs, coinClass }, form, Math.floor(atMs / DAY_MS))
    this.#cells.set(name, begun)
    return begun
  }
}

export const trackRecord = marketTracker('market/track-record', () => new TrackRecord())

/** Whether its rule has made a claim in the last two days. */
export function isClaimed({ newestMadeMs }: Pick<RecordCell, 'newestMadeMs'>, nowMs: number) {
  return nowMs - newestMadeMs <= UNCLAIMED_AFTER_MS
}

/** Whether its rule has made no claim for 30 days. */
export function isDead({ newestMadeMs }: Pick<RecordCell, 'newestMadeMs'>, nowMs: number): boolean {
  return nowMs - newestMadeMs > DEAD_AFTER_MS
}

export function nameOf({ rule, horizonMs, coinClass }: CellKey): string {
  return `${rule} ${horizonMs} ${coinClass}`
}
