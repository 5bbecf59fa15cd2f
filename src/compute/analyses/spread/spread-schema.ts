import { Type } from 'typebox'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { SPREAD_MINUTES_MIN } from './spread-history.ts'
import {
  CALIBRATIONS_MIN,
  EXECUTIONS_MIN,
  MODEL_RATIOS_MIN,
  WINDOW_MINUTES,
} from './trade-costs.ts'

const Usd = nullable(
  Type.Number({
    minimum: 0,
    description:
      'Resting notional, USD; a lower bound where the visible book ends nearer: see bid_visible_bps and ask_visible_bps. null where dex.usd_per_quote_unit is.',
  }),
)

const Count = (what: string) => Type.Integer({ minimum: 0, description: `Number of ${what}.` })

const TradeCostsAnswer = Type.Object(
  {
    effective_spread_bps: nullable(
      Type.Number({
        minimum: 0,
        description: `2 x abs(price - mid before) / mid before, weighted by notional, in basis points; null below ${EXECUTIONS_MIN} executions.`,
      }),
    ),
    n: Count('executions with a quote of the second before them'),
    notional_usd: nullable(
      Type.Number({
        minimum: 0,
        description: 'Sum of these executions, USD. null where dex.usd_per_quote_unit is.',
      }),
    ),
    realized_spread_10s_bps: nullable(
      Type.Number({
        description: `2 x side x (price - mid 10 s later) / mid before, weighted by notional, in basis points: what makers kept; null below ${EXECUTIONS_MIN} executions.`,
      }),
    ),
    realized_n: Count('executions with a mid 10 to 16 s after them as well'),
    window_seconds: Type.Integer({
      minimum: 0,
      maximum: 60 * WINDOW_MINUTES,
      description:
        'Seconds from the first minute that was counted until the newest book or trade; at most an hour.',
    }),
    is_partial: Type.Boolean({
      description:
        'Trades of the last hour are lost, because a connection was interrupted for longer than the venue repeats: what was counted lacks them.',
    }),
  },
  {
    description:
      "What takers paid in the last hour by the venue's clock. One execution is all trades of one instant and side.",
  },
)

const Versus24h = Type.Object(
  {
    median_bid_ask_bps: nullable(
      Type.Number({
        minimum: 0,
        description: `Median of the quoted spread at whole minutes, in basis points; null below ${SPREAD_MINUTES_MIN} minutes.`,
      }),
    ),
    percentile: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: `Rank of bid_ask_bps among those minutes, 0 to 100, equal ones counted half, no digit finer than 100 / n; null below ${SPREAD_MINUTES_MIN} minutes.`,
      }),
    ),
    n: Count('minutes with a quoted spread'),
    window_hours: Type.Number({
      minimum: 0,
      maximum: 24,
      description: 'From the oldest of these minutes to the book, hours.',
    }),
  },
  { description: 'The quoted spread against its own last 24 hours.' },
)

const Calibration = Type.Object(
  {
    n: Count('newest executions that were compared'),
    median_abs_error_bps: nullable(
      Type.Number({
        minimum: 0,
        description: `Median of abs(cost paid - cost estimated for that size from the book before), in basis points; null below ${CALIBRATIONS_MIN} executions.`,
      }),
    ),
    p90_abs_error_bps: nullable(
      Type.Number({
        minimum: 0,
        description: `Nine of ten of these errors are not larger, in basis points; null below ${CALIBRATIONS_MIN} executions.`,
      }),
    ),
    median_error_bps: nullable(
      Type.Number({
        description: `Median of cost paid - cost estimated, in basis points; positive: estimates were too low; null below ${CALIBRATIONS_MIN} executions.`,
      }),
    ),
    as_of: nullable(
      Type.String({ format: 'date-time', description: 'Newest execution that was compared, UTC.' }),
    ),
    notional_usd_min: nullable(
      Type.Number({
        description:
          'Smaller executions are not compared, USD. null where dex.usd_per_quote_unit is.',
      }),
    ),
    model_n: Count('executions beyond the visible book'),
    model_scale: Type.Number({
      description: `Factor on the method "model", times: median of cost paid over cost modelled, between 0.5 and 3; 1 below ${MODEL_RATIOS_MIN} executions.`,
    }),
  },
  { description: 'Estimates of slippage against the executions that followed them.' },
)

export const SpreadAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  mid_price: Type.Number({ description: '(best_bid + best_ask) / 2, USD.' }),
  spread: Type.Object({
    best_bid: Type.Number({ description: 'USD.' }),
    best_ask: Type.Number({ description: 'USD.' }),
    bid_ask_bps: Type.Number({
      minimum: 0,
      description: '(best_ask - best_bid) / mid_price, in basis points.',
    }),
    impact_bid: nullable(
      Type.Number({
        description:
          "The venue's impact price for a sale, USD; null where it has none, and with the warning leg_skew where it contradicts best_bid and best_ask.",
      }),
    ),
    impact_ask: nullable(
      Type.Number({
        description: "The venue's impact price for a buy, USD; null together with impact_bid.",
      }),
    ),
    impact_spread_bps: nullable(
      Type.Number({
        description:
          '(impact_ask - impact_bid) / mid_price, in basis points; null without these prices.',
      }),
    ),
    slippage_10k_bps: slippage(10_000),
    slippage_50k_bps: slippage(50_000),
    slippage_100k_bps: slippage(100_000),
    slippage_500k_bps: slippage(500_000),
    slippage: Type.Array(
      Type.Object({
        notional_usd: Type.Number({ description: 'Size of the order, USD.' }),
        buy_bps: nullable(
          Type.Number({
            description: 'Average price above mid_price, in basis points; null on an empty side.',
          }),
        ),
        sell_bps: nullable(
          Type.Number({
            description: 'Average price below mid_price, in basis points; null on an empty side.',
          }),
        ),
        filled_pct: Type.Number({
          minimum: 0,
          maximum: 100,
          description: 'Share that the visible book fills on its worse side, percent.',
        }),
        method: oneOf(
          ['book_walk', 'model'],
          'book_walk: the visible book fills both sides. model: the visible part times the square root of size over it, times calibration.model_scale; never below filling the rest at the last visible level.',
        ),
      }),
      { description: 'Empty where dex.usd_per_quote_unit is null.' },
    ),
    depth: Type.Object({
      bid_5bps_usd: Usd,
      ask_5bps_usd: Usd,
      bid_10bps_usd: Usd,
      ask_10bps_usd: Usd,
      bid_50bps_usd: Usd,
      ask_50bps_usd: Usd,
      bid_visible_bps: Type.Number({
        description: 'Depth is known up to this distance from mid_price only, in basis points.',
      }),
      ask_visible_bps: Type.Number({
        description: 'Depth is known up to this distance from mid_price only, in basis points.',
      }),
    }),
    imbalance: nullable(
      Type.Number({
        minimum: -1,
        maximum: 1,
        description:
          '(bid - ask) / (bid + ask) of the depth within imbalance_reach_bps, -1 to 1; null where neither side has any.',
      }),
    ),
    imbalance_reach_bps: Type.Number({
      minimum: 0,
      maximum: 10,
      description:
        'Distance from mid_price within which both sides are compared, in basis points: 10, or as far as the side that is visible less far.',
    }),
    max_size_10bps_is_floor: Type.Boolean({
      description:
        'All that is visible of the side that limits max_size_10bps_usd costs less than 10 bps on average: more may be had.',
    }),
    max_size_10bps_usd: nullable(
      Type.Number({
        minimum: 0,
        description:
          'Largest notional that both sides fill within 10 bps of mid on average, USD. null where dex.usd_per_quote_unit is.',
      }),
    ),
    liquidity_score: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        description:
          'By slippage_100k_bps, 1 to 10: below 1 = 10, 2 = 9, 4 = 8, 6 = 7, 10 = 6, 15 = 5, 25 = 4, 50 = 3, 100 = 2; else or null 1. null where dex.usd_per_quote_unit is.',
      }),
    ),
    liquidity_label: nullable(
      oneOf(
        ['DEEP', 'GOOD', 'FAIR', 'THIN'],
        'By liquidity_score: 8 and above, 6 and above, 4 and above, below. null where that is.',
      ),
    ),
    trade_costs: TradeCostsAnswer,
    vs_24h: Versus24h,
    calibration: Calibration,
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_spread') }),
})

function slippage(notionalUsd: number) {
  return nullable(
    Type.Number({
      minimum: 0,
      description: `Average price against mid_price for ${notionalUsd} USD on the worse side, in basis points; null when the visible book is too small.`,
    }),
  )
}
