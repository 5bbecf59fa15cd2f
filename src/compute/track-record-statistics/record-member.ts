import { Type } from 'typebox'
import type { CoinClass, RuleId } from '../../domain/track-record.ts'
import { familyOf, formOfFamily } from '../../domain/track-record.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState } from '../market/market-state.ts'
import {
  fraction,
  nonNegative,
  nullable,
  number,
  oneOf,
  signedFraction,
  text,
} from '../render/answer-schema.ts'
import { orNull, score } from '../render/significance.ts'
import { recentBars } from '../track-record/recent-bars.ts'
import type { Baseline } from './baseline.ts'
import { baselines } from './baseline.ts'
import { DAY_MS } from './blocks.ts'
import type { CellKey, RecordCell } from './cell.ts'
import type { RecordFigures } from './figures.ts'
import type { RecordStatus } from './status.ts'
import { recordStatuses } from './status.ts'
import { nameOf, trackRecord } from './track-record.ts'

/** `track_record` of an estimate in an answer. */
export type RecordMember = {
  readonly rule: RuleId
  readonly horizon_hours: number
  readonly probability: number | null
  readonly rank_correlation?: number | null
  readonly n_eff: number
  readonly lift: number | null
  readonly lift_low: number | null
  readonly skill: number | null
  readonly status: RecordStatus
  readonly since: string | null
  readonly evidence: 'live' | 'backtest' | null
}

const HOUR_MS = 3_600_000
const QUARTER_MS = HOUR_MS / 4
/** The coin by whose size the records of the whole market are shown. */
const MARKET_COIN = 'BTC'

/** A rule at one of its horizons, as an estimate in an answer names it. */
type RecordedRule = Pick<CellKey, 'rule' | 'horizonMs'>

/** Rules whose records stand in answers. A direction is claimed for 1, 4 and 24 h; answers show the middle one. */
export const shownRules = {
  confluence: { rule: 'confluence.bias@2', horizonMs: 4 * HOUR_MS },
  zones: { rule: 'zone.reaction@2', horizonMs: 24 * HOUR_MS },
  cascade: { rule: 'cascade.score@1', horizonMs: 24 * HOUR_MS },
  rsi: { rule: 'vote.rsi@2', horizonMs: 4 * HOUR_MS },
  zscore: { rule: 'vote.zscore@2', horizonMs: 4 * HOUR_MS },
  volatility: { rule: 'volatility.har@1', horizonMs: 24 * HOUR_MS },
  blend: { rule: 'volatility.blend@1', horizonMs: 24 * HOUR_MS },
  funding: { rule: 'funding.next@1', horizonMs: HOUR_MS },
  reverting: { rule: 'funding.reverting@1', horizonMs: HOUR_MS },
  slippage: { rule: 'slippage.walk@2', horizonMs: QUARTER_MS },
  basis: { rule: 'gap.basis@2', horizonMs: QUARTER_MS },
  cexDex: { rule: 'gap.cex_dex@2', horizonMs: QUARTER_MS },
  arb: { rule: 'gap.arb@2', horizonMs: QUARTER_MS },
  peg: { rule: 'peg.level@2', horizonMs: HOUR_MS },
} as const satisfies Readonly<Record<string, RecordedRule>>

const ruleMembers = {
  rule: text('Rule with version; another version has its own record.'),
  horizon_hours: number('Hours after which its claims are resolved.'),
}

const figureMembers = {
  n_eff: nonNegative(
    'Number of independent claims to which the resolved ones amount, by whole days.',
  ),
  lift: nullable(number('Ratio of its result to that of the control; above 1 is better.')),
  lift_low: nullable(number('Lower end of the 95 % interval of lift, a ratio; bootstrap by days.')),
  skill: nullable(number("Share of the control's loss that is avoided: 1 perfect, 0 no better.")),
  status: oneOf(
    recordStatuses,
    'measuring: n_eff has never reached 200. supported: better than the control. not_supported: not shown to be better. inverted: happens less often than the control.',
  ),
  since: nullable(text('First day of the record, UTC.')),
  evidence: nullable(
    oneOf(
      ['live', 'backtest'] as const,
      'live: claims of this service. backtest: recorded data, while the live record is measuring. null: none yet.',
    ),
  ),
}

const description = 'Past claims of this rule for coins of this size; /track-record has the table.'

/** Of a rule whose claims are events or quantiles. */
export const recordMember = Type.Object(
  {
    ...ruleMembers,
    probability: nullable(
      fraction(
        'Share of its claims that came true, or of values in the 80 % interval for quantiles; null before any.',
      ),
    ),
    ...figureMembers,
  },
  { description },
)

/** Of a rule whose score ranks. */
export const rankedRecordMember = Type.Object(
  {
    ...ruleMembers,
    probability: Type.Null({ description: 'Always null: a score that ranks states none.' }),
    rank_correlation: nullable(
      signedFraction('Mean Spearman correlation by day with what followed; null before any.'),
    ),
    ...figureMembers,
  },
  { description },
)

/** The record of a rule for coins of one class: of the backtest while the live one is too short. */
export function recordOf(
  market: Pick<MarketState, 'of'>,
  { rule, horizonMs }: RecordedRule,
  coinClass: CoinClass | null,
): RecordMember {
  if (coinClass === null) return emptyMember({ rule, horizonMs })
  const key: CellKey = { rule, horizonMs, coinClass }
  const cell = market.of(trackRecord).cell(key)
  if (cell !== undefined && cell.status !== 'measuring') return liveMember(cell)
  const backtest = backtestMembers.get(nameOf(key))
  if (backtest !== undefined) return backtest
  return cell === undefined ? emptyMember(key) : liveMember(cell)
}

/** The record of a rule for a coin, by its class now. */
export function recordOfCoin(
  coin: Pick<CoinMarket, 'of'>,
  market: Pick<MarketState, 'of'>,
  rule: RecordedRule,
): RecordMember {
  return recordOf(market, rule, coin.of(recentBars).coinClass)
}

/** The record of a rule about the whole market. */
export function recordOfMarket(
  market: Pick<MarketState, 'of' | 'coin'>,
  rule: RecordedRule,
): RecordMember {
  return recordOf(market, rule, market.coin(MARKET_COIN)?.of(recentBars).coinClass ?? null)
}

/** Members that `view=compact` omits, for a contract: it keeps rule, lift and status. */
export function compactRecordOmits(
  path: string,
  { properties }: typeof recordMember | typeof rankedRecordMember = recordMember,
): readonly string[] {
  const kept = new Set(['rule', 'lift', 'status'])
  const members = Object.keys(properties).filter((name) => !kept.has(name))
  return members.map((name) => `${path}.${name}`)
}

/** The value of an estimate for summaries that rest on it: null unless its record supports it. */
export function supportedOnly<Value>({ status }: RecordMember, value: Value): Value | null {
  return status === 'supported' ? value : null
}

/** By the figures of a cell, which change once a day: members are read for every document. */
const liveMembers = new WeakMap<RecordFigures, RecordMember>()

function liveMember(cell: RecordCell): RecordMember {
  const known = liveMembers.get(cell.figures)
  // A change of status rests on the same figures.
  if (known?.status === cell.status) return known
  const member = newLiveMember(cell)
  liveMembers.set(cell.figures, member)
  return member
}

function newLiveMember({ key, status, figures, firstDay }: RecordCell): RecordMember {
  return {
    ...headOf(key),
    ...rateOf(key.rule, figures.rate),
    n_eff: Math.floor(figures.effective),
    lift: orNull(figures.lift, score),
    lift_low: orNull(figures.liftLow, score),
    skill: orNull(figures.skill, score),
    status,
    since: isoDay(firstDay),
    evidence: 'live',
  }
}

function backtestMember(baseline: Baseline): RecordMember {
  return {
    ...headOf(baseline),
    ...rateOf(baseline.rule, baseline.rate),
    n_eff: Math.floor(baseline.effective),
    lift: orNull(baseline.lift, score),
    lift_low: orNull(baseline.liftLow, score),
    skill: orNull(baseline.skill, score),
    status: baseline.status,
    since: baseline.fromIso.slice(0, 10),
    evidence: 'backtest',
  }
}

function emptyMember(key: RecordedRule): RecordMember {
  return {
    ...headOf(key),
    ...rateOf(key.rule, Number.NaN),
    ...{ n_eff: 0, lift: null, lift_low: null, skill: null },
    ...{ status: 'measuring', since: null, evidence: null },
  }
}

/** A rate is a share, or a rank correlation, by the form of the family's claims. */
function rateOf(rule: RuleId, rate: number) {
  const shown = orNull(rate, score)
  return formOfFamily[familyOf(rule)] === 'rank'
    ? { probability: null, rank_correlation: shown }
    : { probability: shown }
}

function headOf({ rule, horizonMs }: RecordedRule) {
  return { rule, horizon_hours: horizonMs / HOUR_MS }
}

/** UTC date of a day since the Unix epoch. */
export function isoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** By the name of their cell. */
const backtestMembers: ReadonlyMap<string, RecordMember> = new Map(
  baselines.map((baseline) => [nameOf(baseline), backtestMember(baseline)]),
)
