import { Type } from 'typebox'
import {
  CALIBRATIONS_MIN,
  EXECUTIONS_MIN,
  MODEL_RATIOS_MIN,
  WINDOW_MINUTES,
} from '../../execution/trade-costs.ts'
import {
  coinMembers,
  count,
  flag,
  instant,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  signedFraction,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'
import { SPREAD_MINUTES_MIN } from './spread-history.ts'

const Usd = nullable(
  nonNegative(
    'Resting notional within this distance of mid_price, USD; a lower bound if the visible book ends before (bid_visible_bps, ask_visible_bps). null if dex.usd_per_quote_unit is.',
  ),
)

const Count = (what: string) => count(`Number of ${what}.`)

const TradeCostsAnswer = Type.Object(
  {
    effective_spread_bps: nullable(
      nonNegative(
        `Effective spread: notional-weighted mean of 2 x abs(price - mid before) / mid before, in basis points; null below ${EXECUTIONS_MIN} executions.`,
      ),
    ),
    n: Count('executions with a quote within 1 s before'),
    notional_usd: nullable(
      nonNegative('Notional of these executions, USD; null if dex.usd_per_quote_unit is.'),
    ),
    realized_spread_10s_bps: nullable(
      number(
        `Realized spread (maker revenue): notional-weighted mean of 2 x side x (price - mid 10 s later) / mid before, in basis points; null below ${EXECUTIONS_MIN} executions.`,
      ),
    ),
    realized_n: Count('executions that also have a mid price 10 to 16 s later'),
    window_seconds: Type.Integer({
      minimum: 0,
      maximum: 60 * WINDOW_MINUTES,
      description:
        'Seconds from the first minute with an execution until the newest book or trade, at most 3600.',
    }),
    is_partial: flag(
      'true: trades of the last hour are missing after a long disconnection, or over 1,024 executions waited for their later mid.',
    ),
  },
  {
    description:
      "Costs that takers paid in the last hour, by the venue's clock. One execution is all trades with the same timestamp and side.",
  },
)

const Versus24h = Type.Object(
  {
    median_bid_ask_bps: nullable(
      nonNegative(
        `Median of bid_ask_bps at whole minutes, in basis points; null below ${SPREAD_MINUTES_MIN} minutes.`,
      ),
    ),
    percentile: nullable(
      percentage(
        `Percentile rank of bid_ask_bps among these minutes, 0 to 100, equal values counted half; null below ${SPREAD_MINUTES_MIN} minutes.`,
      ),
    ),
    n: Count('minutes with data'),
    window_hours: Type.Number({
      minimum: 0,
      maximum: 24,
      description: 'From the oldest of these minutes to the present book, hours.',
    }),
  },
  { description: 'bid_ask_bps against its own last 24 h.' },
)

const Calibration = Type.Object(
  {
    n: Count('executions compared, the newest up to 256'),
    median_abs_error_bps: nullable(
      nonNegative(
        `Median absolute error: cost paid less cost estimated from the book before the execution, in basis points; null below ${CALIBRATIONS_MIN} executions.`,
      ),
    ),
    p90_abs_error_bps: nullable(
      nonNegative(
        `90th percentile of the absolute errors, in basis points; null below ${CALIBRATIONS_MIN} executions.`,
      ),
    ),
    median_error_bps: nullable(
      number(
        `Median error, in basis points; positive: estimates were too low; null below ${CALIBRATIONS_MIN} executions.`,
      ),
    ),
    as_of: nullable(instant('Time of the newest execution compared, UTC.')),
    notional_usd_min: nullable(
      number('Smallest execution compared, USD; null if dex.usd_per_quote_unit is.'),
    ),
    model_n: Count('executions larger than the visible book, the newest up to 64'),
    model_scale: number(
      `Factor of the method "model": median ratio of cost paid to cost modelled, between 0.5 and 3; 1 below ${MODEL_RATIOS_MIN} executions.`,
    ),
  },
  { description: 'Slippage estimates compared with actual executions.' },
)

export const SpreadAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  mid_price: number('(best_bid + best_ask) / 2, USD.'),
  spread: Type.Object({
    best_bid: number('Best bid, USD.'),
    best_ask: number('Best ask, USD.'),
    bid_ask_bps: nonNegative('(best_ask - best_bid) / mid_price, in basis points.'),
    impact_bid: nullable(
      number(
        "The venue's impact price for a sell order, USD; null if none or over 60 s older than the book, or (warning leg_skew) if it contradicts best_bid or best_ask.",
      ),
    ),
    impact_ask: nullable(number("The venue's impact price for a buy order, USD; null likewise.")),
    impact_spread_bps: nullable(
      number('(impact_ask - impact_bid) / mid_price, in basis points; null if either is.'),
    ),
    slippage_10k_bps: slippage(10_000),
    slippage_50k_bps: slippage(50_000),
    slippage_100k_bps: slippage(100_000),
    slippage_500k_bps: slippage(500_000),
    slippage: Type.Array(
      Type.Object({
        notional_usd: number('Size of the order, USD.'),
        buy_bps: nullable(
          number('Slippage of a buy: average price above mid_price, in basis points.'),
        ),
        sell_bps: nullable(
          number('Slippage of a sell: average price below mid_price, in basis points.'),
        ),
        filled_pct: percentage(
          'Share of the order that the visible book fills, worse side, percent.',
        ),
        method: oneOf(
          ['book_walk', 'model'],
          'book_walk: the visible book fills both sides. model: slippage of the visible part x sqrt(order / visible size) x calibration.model_scale, at least that of filling the remainder at the last visible level.',
        ),
      }),
      { description: 'Slippage by order size; empty if dex.usd_per_quote_unit is null.' },
    ),
    depth: Type.Object({
      bid_5bps_usd: Usd,
      ask_5bps_usd: Usd,
      bid_10bps_usd: Usd,
      ask_10bps_usd: Usd,
      bid_50bps_usd: Usd,
      ask_50bps_usd: Usd,
      bid_visible_bps: number('Distance of the last visible bid from mid_price, in basis points.'),
      ask_visible_bps: number('Distance of the last visible ask from mid_price, in basis points.'),
    }),
    imbalance: nullable(
      signedFraction(
        '(bid - ask) / (bid + ask) of the depth within imbalance_reach_bps, -1 to 1; null without depth there.',
      ),
    ),
    imbalance_reach_bps: Type.Number({
      minimum: 0,
      maximum: 10,
      description:
        'Distance from mid_price used for imbalance, in basis points: 10, or less if a side is visible less far.',
    }),
    max_size_10bps_is_floor: flag(
      'true: max_size_10bps_usd is a lower bound, limited by the visible book.',
    ),
    max_size_10bps_usd: nullable(
      nonNegative(
        'Largest order that fills on either side at an average price within 10 bps of mid_price, USD; null if dex.usd_per_quote_unit is.',
      ),
    ),
    liquidity_score: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        description:
          '10 if slippage_100k_bps is below 1, 9 below 2, 8 below 4, 7 below 6, 6 below 10, 5 below 15, 4 below 25, 3 below 50, 2 below 100, else 1. null if dex.usd_per_quote_unit is null.',
      }),
    ),
    liquidity_label: nullable(
      oneOf(
        ['DEEP', 'GOOD', 'FAIR', 'THIN'],
        'By liquidity_score: from 8 DEEP, from 6 GOOD, from 4 FAIR, below THIN; null if that is.',
      ),
    ),
    trade_costs: TradeCostsAnswer,
    vs_24h: Versus24h,
    calibration: Calibration,
    track_record: recordMember,
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_spread') }),
})

function slippage(notionalUsd: number) {
  return nullable(
    nonNegative(
      `Slippage of an order of ${notionalUsd} USD on the worse side, average price against mid_price, in basis points; null if the visible book is too small.`,
    ),
  )
}
