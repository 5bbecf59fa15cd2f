import { BoundedMap } from '../../domain/bounded-map.ts'
import type { DocumentContract } from '../../domain/contract.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { ClaimFamily } from '../../domain/track-record.ts'
import { claimFamilies, familyOf } from '../../domain/track-record.ts'
import type { MarketDocumentKind } from '../analysis.ts'
import { DocumentBuilder } from '../render/document-builder.ts'
import { decimals, orNull } from '../render/significance.ts'
import { baselines } from './baseline.ts'
import { fieldOf, splitBlocks } from './blocks.ts'
import type { CellKey } from './cell.ts'
import type { Form, RecordFigures } from './figures.ts'
import { figuresOf } from './figures.ts'
import { isoDay } from './record-member.ts'
import type { RecordStatus, StatusChange } from './status.ts'
import { isClaimed, isDead, trackRecord } from './track-record.ts'
import { TrackRecordAnswer } from './track-record-schema.ts'

const PERIOD_MS = 60_000
const HOUR_MS = 3_600_000
const ALL_RECORDS = 'all'
const GRAVEYARD = 'graveyard'

/** State of one cell, as it crosses to the worker. */
type GatheredCell = CellKey & {
  readonly form: Form
  readonly status: RecordStatus
  readonly firstDay: number
  readonly open: number
  /** null while the rule is claimed. */
  readonly claimedUntilMs: number | null
  readonly isDead: boolean
  /** Of all closed days, joined. */
  readonly blocks: Float64Array
  readonly bins: Float64Array
  readonly changes: readonly StatusChange[]
}

export const trackRecordContract: DocumentContract & { readonly scope: 'market' } = {
  id: 'track-record',
  scope: 'market',
  document: TrackRecordAnswer,
  defaultView: ALL_RECORDS,
  viewParameters: [],
}

/** Free: every record, one view for each family, and the dead rules. */
export const trackRecordDocument: MarketDocumentKind<readonly GatheredCell[]> = {
  contract: trackRecordContract,
  periodMs: PERIOD_MS,

  gather: (market, nowMs) =>
    market.of(trackRecord).cells.map((cell) => ({
      ...cell.key,
      ...{ form: cell.form, status: cell.status, firstDay: cell.firstDay, open: cell.open },
      claimedUntilMs: isClaimed(cell, nowMs) ? null : cell.newestMadeMs,
      ...{ isDead: isDead(cell, nowMs), bins: cell.bins },
      blocks: cell.joinedBlocks,
      changes: cell.changes,
    })),

  render(cells, rendering) {
    const builder = new DocumentBuilder()
    const alive = cells.filter((cell) => !cell.isDead)
    const answer = (
      view: string,
      shown: readonly GatheredCell[],
      families: readonly ClaimFamily[],
      rowOf: (cell: GatheredCell) => unknown,
    ) =>
      builder.answer(
        view,
        [
          builder.value({
            timestamp_iso: isoInstant(rendering.renderedAtMs),
            as_of: asOf(shown),
            families,
            watched_cells: cells.length,
            records: shown.map(rowOf),
            backtests: baselinesOf(families),
          }),
        ],
        { inputs: [], coveragePct: 100, warnings: [] },
      )
    answer(ALL_RECORDS, alive, claimFamilies, shortRow)
    for (const family of claimFamilies)
      answer(
        family,
        alive.filter((cell) => familyOf(cell.rule) === family),
        [family],
        longRow,
      )
    const dead = cells.filter((cell) => cell.isDead)
    answer(GRAVEYARD, dead, [...new Set(dead.map(({ rule }) => familyOf(rule)))], longRow)
    return builder.build({ ...rendering, nextUpdateMs: rendering.renderedAtMs + PERIOD_MS })
  },
}

function asOf(cells: readonly GatheredCell[]): string | null {
  const days = cells.flatMap(({ blocks }) => {
    const last = splitBlocks(blocks).at(-1)
    return last === undefined ? [] : [fieldOf(last, 'day') + fieldOf(last, 'days')]
  })
  return days.length === 0 ? null : isoDay(Math.max(...days))
}

function shortRow(cell: GatheredCell) {
  return {
    ...headOf(cell),
    form: cell.form,
    status: cell.status,
    since: isoDay(cell.firstDay),
    as_of: asOf([cell]),
    claimed_until_iso: cell.claimedUntilMs === null ? null : isoInstant(cell.claimedUntilMs),
    // Open claims of a rule that is removed are dropped without an outcome.
    open: cell.isDead ? 0 : cell.open,
    windows: windowsOf(cell, ['since']),
    ...(cell.form === 'event' && { reliability: reliabilityOf(cell.bins) }),
  }
}

function longRow(cell: GatheredCell) {
  return {
    ...shortRow(cell),
    windows: windowsOf(cell, windows),
    changes: cell.changes.map((change) => ({
      as_of: isoDay(change.day),
      status: change.status,
      e_value: shown(change.evidence),
      e_value_needed: change.needed,
      n_eff: Math.floor(change.effective),
      rate: shown(change.rate),
      control_rate: shown(change.controlRate),
      lift: shown(change.lift),
      lift_low: shown(change.liftLow),
      lift_high: shown(change.liftHigh),
      skill: shown(change.skill),
    })),
  }
}

const windowDays = { '7d': 7, '30d': 30, '90d': 90, since: Number.POSITIVE_INFINITY }
type Window = keyof typeof windowDays
const windows: readonly Window[] = ['7d', '30d', '90d', 'since']

function windowsOf(cell: GatheredCell, wanted: readonly Window[]) {
  return wanted.map((window) => ({
    window,
    ...figureMembers(windowFigures(cell, windowDays[window])),
  }))
}

/** RecordFigures change once a day, and the document is rendered every minute. */
const computed = new BoundedMap<string, RecordFigures>(4_096)

function windowFigures(cell: GatheredCell, days: number): RecordFigures {
  const { rule, horizonMs, coinClass, form } = cell
  const blocks = splitBlocks(cell.blocks)
  const last = blocks.at(-1)
  const end = last === undefined ? cell.firstDay : fieldOf(last, 'day') + fieldOf(last, 'days')
  const voids = last === undefined ? 0 : fieldOf(last, 'voids')
  const name = [rule, horizonMs, coinClass, cell.firstDay, end, voids, days].join()
  const known = computed.get(name)
  if (known !== undefined) return known
  const within = blocks.filter((block) => fieldOf(block, 'day') >= end - days)
  const figures = figuresOf(form, within)
  computed.set(name, figures)
  return figures
}

function figureMembers(figures: RecordFigures) {
  const [coverage50, coverage80, coverage95] = figures.coverage
  return {
    n: figures.observed,
    void: figures.voids,
    abstained: figures.abstained,
    // Rounded up it could show a threshold that is not reached.
    n_eff: Math.floor(figures.effective),
    days: figures.days,
    rate: shown(figures.rate),
    rate_low: shown(figures.rateLow),
    rate_high: shown(figures.rateHigh),
    control_rate: shown(figures.controlRate),
    lift: shown(figures.lift),
    lift_low: shown(figures.liftLow),
    lift_high: shown(figures.liftHigh),
    loss: shownLoss(figures.loss),
    control_loss: shownLoss(figures.controlLoss),
    skill: shown(figures.skill),
    coverage_50: shown(coverage50),
    coverage_80: shown(coverage80),
    coverage_95: shown(coverage95),
  }
}

function reliabilityOf(bins: Float64Array) {
  const width = bins.length / 3
  return Array.from({ length: width }, (_, at) => {
    const [n = 0, stated = 0, hits = 0] = bins.subarray(3 * at, 3 * at + 3)
    const bin = { from: at / width, to: (at + 1) / width, n }
    return { ...bin, stated: shown(stated / n), happened: shown(hits / n) }
  }).filter(({ n }) => n > 0)
}

function baselinesOf(families: readonly ClaimFamily[]) {
  return baselines
    .filter((one) => families.includes(familyOf(one.rule)))
    .map((one) => ({
      ...headOf(one),
      status: one.status,
      n_eff: Math.floor(one.effective),
      rate: shown(one.rate),
      lift: shown(one.lift),
      lift_low: shown(one.liftLow),
      lift_high: shown(one.liftHigh),
      skill: shown(one.skill),
      from_iso: one.fromIso,
      until_iso: one.untilIso,
      source: one.source,
    }))
}

function headOf({ rule, horizonMs, coinClass }: CellKey) {
  return { rule, horizon_hours: horizonMs / HOUR_MS, coin_class: coinClass }
}

/** Four decimals. */
function shown(value: number): number | null {
  return orNull(Number.isFinite(value) ? value : Number.NaN, (known) => decimals(known, 4))
}

/** Six significant digits: a loss has the unit of its value, and an hourly rate is about 1e-5. */
function shownLoss(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null
}
