import type { CoinClass, ResolvedClaim, RuleId } from '../../domain/track-record.ts'
import { coinClasses } from '../../domain/track-record.ts'
import { charactersOf, joinSections, splitSections, textOf } from '../market/saved-sections.ts'
import type { Block } from './blocks.ts'
import { blockField, compacted, DAY_MS, fieldOf, splitBlocks, splitRows, sumOf } from './blocks.ts'
import { Evidence } from './evidence.ts'
import type { Form, RecordFigures } from './figures.ts'
import { effectiveCount, figuresOf } from './figures.ts'
import { OpenDay } from './open-day.ts'
import type { RecordStatus, StatusChange, Tests } from './status.ts'
import { nextStatus, recordStatuses } from './status.ts'

/** What a cell is about: one rule, one horizon, one class of coin. */
export type CellKey = {
  readonly rule: RuleId
  readonly horizonMs: number
  readonly coinClass: CoinClass
}

/** Claims with a longer horizon mostly end on the next day, so that two days overlap. */
const WITHIN_DAY_MS_MAX = DAY_MS / 2
/** Time after the end of a horizon in which the outcome, or that it is void, arrives. A later one is void. */
const OUTCOME_MS_MAX = 13 * 3_600_000
const RELIABILITY_BINS = 10
const forms: readonly Form[] = ['event', 'quantiles', 'rank']
/** Changes that are kept; the oldest are never dropped. */
const CHANGES_MAX = 256

/** The record of one cell: sums by day, the evidence, and every change of its status. Bounded, without a clock. */
export class RecordCell {
  readonly key: CellKey
  readonly form: Form
  #open = 0
  #newestMadeMs = 0
  readonly #firstDay: number
  /** Claims of an earlier day are void. */
  #closedBefore: number
  #openDays: OpenDay[] = []
  #blocks: readonly Block[] = []
  /** Claims, sum of probabilities, and hits, by tenths of the stated probability. */
  readonly #bins = new Float64Array(3 * RELIABILITY_BINS)
  /** One stream of evidence for days of which none overlaps the next. */
  readonly #lift: readonly Evidence[]
  readonly #skill: readonly Evidence[]
  /** Advantages against which the tests are made. */
  #references = { lift: 0, skill: 0 }
  #changes: readonly StatusChange[] = []
  #figures: RecordFigures | null = null
  #joined: Float64Array | null = null

  constructor(key: CellKey, form: Form, firstDay: number) {
    this.key = key
    this.form = form
    this.#firstDay = firstDay
    this.#closedBefore = firstDay
    const streams = key.horizonMs <= WITHIN_DAY_MS_MAX ? 1 : 1 + Math.ceil(key.horizonMs / DAY_MS)
    this.#lift = Array.from({ length: streams }, () => new Evidence())
    this.#skill = Array.from({ length: streams }, () => new Evidence())
  }

  get status(): RecordStatus {
    return this.#changes.at(-1)?.status ?? 'measuring'
  }

  get changes(): readonly StatusChange[] {
    return this.#changes
  }

  get open(): number {
    return this.#open
  }

  get firstDay(): number {
    return this.#firstDay
  }

  get newestMadeMs(): number {
    return this.#newestMadeMs
  }

  /** Closed days, ascending. */
  get blocks(): readonly Block[] {
    return this.#blocks
  }

  /** All numbers of {@link blocks}, in one array that must not be modified. */
  get joinedBlocks(): Float64Array {
    this.#joined ??= Float64Array.from(this.#blocks.flatMap((block) => [...block]))
    return this.#joined
  }

  get bins(): Float64Array {
    return this.#bins
  }

  /** RecordFigures of all closed days; computed once after a day has closed. */
  get figures(): RecordFigures {
    this.#figures ??= figuresOf(this.form, this.#blocks)
    return this.#figures
  }

  made(madeAtMs: number): void {
    this.#open += 1
    this.#newestMadeMs = Math.max(this.#newestMadeMs, madeAtMs)
  }

  abstained(atMs: number): void {
    this.#newestMadeMs = Math.max(this.#newestMadeMs, atMs)
    this.#openDay(Math.floor(atMs / DAY_MS))?.abstain()
  }

  resolved(claim: ResolvedClaim): void {
    this.#open = Math.max(0, this.#open - 1)
    const day = this.#openDay(Math.floor(claim.madeAtMs / DAY_MS))
    if (day === undefined) {
      const last = this.#blocks.at(-1)
      if (last === undefined) return
      last[blockField.voids] = fieldOf(last, 'voids') + 1
      this.#figures = null
      this.#joined = null
      return
    }
    day.add(claim)
    const { statement, outcome } = claim
    if (statement.form !== 'event' || outcome.kind !== 'event') return
    const bin = Math.min(RELIABILITY_BINS - 1, Math.floor(statement.probability * RELIABILITY_BINS))
    const hit = outcome.happened ? 1 : 0
    for (const [at, amount] of [1, statement.probability, hit].entries())
      this.#bins[3 * bin + at] = (this.#bins[3 * bin + at] as number) + amount
  }

  /** When the oldest open day can be closed, by the venue's clock; infinite without one. */
  get dueMs(): number {
    const [oldest] = this.#openDays
    return oldest === undefined ? Number.POSITIVE_INFINITY : this.#closesAtMs(oldest.day)
  }

  /** Closes the oldest open day. @param watchedCells number of cells among which this one is watched */
  closeDay(watchedCells: number): void {
    const day = this.#openDays.shift()
    if (day === undefined) return
    this.#closedBefore = day.day + 1
    day.close()
    this.#bet(day)
    this.#blocks = compacted([...this.#blocks, day.all], day.day)
    this.#figures = null
    this.#joined = null
    const change = nextStatus(this.status, this.#tests(), {
      day: day.day + 1,
      form: this.form,
      watchedCells,
      effective: () => effectiveCount(this.form, this.#blocks),
      figures: () => this.figures,
    })
    if (change === null || this.#changes.length >= CHANGES_MAX) return
    this.#changes = [...this.#changes, change]
    this.#restartTests(change.status)
  }

  save(): Float64Array {
    const { rule, horizonMs, coinClass } = this.key
    return joinSections([
      charactersOf(rule),
      [horizonMs, coinClasses.indexOf(coinClass), forms.indexOf(this.form), this.#firstDay],
      [
        ...[this.#open, this.#newestMadeMs, this.#closedBefore],
        ...[this.#references.lift, this.#references.skill],
      ],
      this.#bins,
      [...this.#lift, ...this.#skill].flatMap((evidence) => evidence.save()),
      this.joinedBlocks,
      this.#changes.flatMap((change) => changeFields.map((field) => numberOf(change, field))),
      ...this.#openDays.flatMap((day) => day.save()),
    ])
  }

  /** @returns null for numbers that {@link save} did not produce */
  static restore(saved: Float64Array): RecordCell | null {
    const sections = splitSections(saved)
    const [rule, facts, state, bins, evidence, blocks, changes, ...days] = sections ?? []
    if (rule === undefined || facts === undefined || state === undefined || bins === undefined)
      return null
    const [horizonMs = Number.NaN, coinClass = -1, form = -1, firstDay = 0] = facts
    const key = { rule: textOf(rule) as RuleId, horizonMs }
    const [itsClass, itsForm] = [coinClasses[coinClass], forms[form]]
    if (itsClass === undefined || itsForm === undefined) return null
    const cell = new RecordCell({ ...key, coinClass: itsClass }, itsForm, firstDay)
    const [open = 0, newestMadeMs = 0, closedBefore = firstDay, lift = 0, skill = 0] = state
    cell.#references = { lift, skill }
    cell.#open = open
    cell.#newestMadeMs = newestMadeMs
    cell.#closedBefore = closedBefore
    cell.#bins.set(bins.subarray(0, cell.#bins.length))
    for (const [at, one] of [...cell.#lift, ...cell.#skill].entries())
      one.restore(evidence?.subarray(at * Evidence.fields) ?? [])
    cell.#blocks = splitBlocks(blocks ?? new Float64Array())
    cell.#changes = splitRows(changes ?? new Float64Array(), changeFields.length).map(changeOf)
    for (let at = 0; at + 3 <= days.length; at += 3)
      cell.#openDays.push(OpenDay.restore(days.slice(at, at + 3)))
    return cell
  }

  #closesAtMs(day: number): number {
    return (day + 1) * DAY_MS + this.key.horizonMs + OUTCOME_MS_MAX
  }

  /** undefined once the day is closed. */
  #openDay(day: number): OpenDay | undefined {
    if (day < this.#closedBefore) return undefined
    const known = this.#openDays.find((one) => one.day === day)
    if (known !== undefined) return known
    const begun = new OpenDay(day)
    this.#openDays = [...this.#openDays, begun].sort((one, other) => one.day - other.day)
    return begun
  }

  #bet(day: OpenDay): void {
    const isWithin = this.#lift.length === 1
    const controlRate = sumOf(this.#blocks, 'control') / sumOf(this.#blocks, 'weight')
    const { lift, skill } = day.advantage(this.form, isWithin, controlRate)
    const stream = day.day % this.#lift.length
    if (!Number.isNaN(lift)) this.#lift[stream]?.add(lift, this.#references.lift)
    if (!Number.isNaN(skill)) this.#skill[stream]?.add(skill, this.#references.skill)
  }

  /** The tests begin again: a shown advantage, or its opposite, ends when less than half of it remains. */
  #restartTests(status: RecordStatus): void {
    for (const evidence of [...this.#lift, ...this.#skill]) evidence.restart()
    const isShown = status === 'supported' || status === 'inverted'
    this.#references = isShown
      ? { lift: meanOf(this.#lift) / 2, skill: meanOf(this.#skill) / 2 }
      : { lift: 0, skill: 0 }
  }

  #tests(): Tests {
    const [lift, skill] = [this.#lift, this.#skill]
    const isBetter = Math.min(evidenceOf(lift, 'above'), evidenceOf(skill, 'above'))
    const isWorse = evidenceOf(lift, 'below')
    const hasEnded =
      this.status === 'inverted'
        ? evidenceOf(lift, 'above')
        : Math.max(isWorse, evidenceOf(skill, 'below')) / 2
    return { isBetter, isWorse, hasEnded }
  }
}

/** E-value of several streams: the largest, divided by their number. */
function evidenceOf(streams: readonly Evidence[], side: 'above' | 'below'): number {
  return Math.max(...streams.map((evidence) => evidence[side])) / streams.length
}

function meanOf(streams: readonly Evidence[]): number {
  const known = streams.map(({ mean }) => mean).filter((mean) => !Number.isNaN(mean))
  return known.reduce((sum, mean) => sum + mean, 0) / Math.max(1, known.length)
}

const changeFields = [
  'day',
  'status',
  'evidence',
  'needed',
  'effective',
  'rate',
  'controlRate',
  'lift',
  'liftLow',
  'liftHigh',
  'skill',
] as const satisfies readonly (keyof StatusChange)[]

function numberOf(change: StatusChange, field: (typeof changeFields)[number]): number {
  return field === 'status' ? recordStatuses.indexOf(change.status) : change[field]
}

function changeOf(row: Float64Array): StatusChange {
  const entries = changeFields.map((field, at) => [field, row[at]])
  const status = recordStatuses[row[changeFields.indexOf('status')] as number] ?? 'measuring'
  return { ...(Object.fromEntries(entries) as StatusChange), status }
}
