import { Type } from 'typebox'
import { families } from '../../confluence/confluence.ts'
import { driverNames, regimeLabels } from '../../regime/regime-rule.ts'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'

const Label = oneOf(['bullish', 'bearish', 'neutral'])

const Indicators = Type.Object({
  rsi_14: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'Wilder RSI over 14 bars; 0 for a series that never moved, as in TA-Lib.',
  }),
  rsi_zone: oneOf(
    ['overbought', 'bullish', 'neutral', 'bearish', 'oversold'],
    'overbought: 70 and above; bullish: 60 to below 70; neutral: between 40 and 60; bearish: above 30 to 40; oversold: 30 and below. neutral also while the last 20 closes are equal, whatever rsi_14 is.',
  ),
  atr_14: Type.Number({ minimum: 0, description: 'Wilder average true range over 14 bars, USD.' }),
  atr_pct: Type.Number({ minimum: 0, description: 'atr_14 over close, percent.' }),
  ema_20: Type.Number({
    description: 'EMA of 20 closes, seeded by the mean of the first 20, USD.',
  }),
  ema_50: Type.Number({ description: 'EMA of 50 closes, likewise, USD.' }),
  ema_200: nullable(
    Type.Number({
      description:
        'EMA of 200 closes, USD; within 0.01 % of price of the EMA over the whole history, or null: see insufficient_bars.',
    }),
  ),
  vwap_20: nullable(
    Type.Number({
      description: 'Volume-weighted typical price of 20 bars, USD; null without volume.',
    }),
  ),
  zscore_100: nullable(
    Type.Number({
      description:
        'Close against the mean of 100 closes, the forming bar included, in population standard deviations; null in a flat window.',
    }),
  ),
  bollinger: Type.Object({
    upper: Type.Number({ description: 'middle plus 2 population standard deviations, USD.' }),
    middle: Type.Number({ description: 'Simple moving average of 20 closes, USD.' }),
    lower: Type.Number({ description: 'middle minus 2 population standard deviations, USD.' }),
    width_pct: Type.Number({ minimum: 0, description: '(upper - lower) / middle, percent.' }),
    position_pct: nullable(
      Type.Number({ description: '0.0 = lower band, 1.0 = upper band; null when the bands meet.' }),
    ),
  }),
  trend: Type.Object({
    direction: Type.Union([Type.Literal(1), Type.Literal(0), Type.Literal(-1)], {
      description: '1: EMA 20 above EMA 50 and price above EMA 50; -1: both below; else 0.',
    }),
    label: Label,
    ema_stack: nullable(
      oneOf(
        ['bull_aligned', 'bear_aligned', 'mixed', 'flat'],
        'flat: the three EMAs lie within 0.1 % of price; bull_aligned: 20 > 50 > 200; null without ema_200.',
      ),
    ),
  }),
})

const TimeframeAnswer = Type.Object({
  indicators: Indicators,
  bars: Type.Integer({
    minimum: 1,
    description: 'Number of consecutive candles behind the indicators, the forming one included.',
  }),
  bars_is_whole_history: Type.Boolean({
    description: 'true: the coin has no older candles, so every value is of its whole history.',
  }),
  insufficient_bars: Type.Array(
    Type.Object({
      field: Type.String({ description: 'Indicator that is null.' }),
      have: Type.Integer({ minimum: 1, description: 'Number of candles; equals bars.' }),
      need: Type.Integer({
        minimum: 1,
        description: 'Number of candles from which on its seed moves it by at most 0.01 percent.',
      }),
    }),
    { description: 'Indicators withheld until older candles are loaded; warns of short_history.' },
  ),
  candle_freshness_seconds: Type.Number({
    minimum: 0,
    description: 'Seconds since the venue last confirmed this candle series.',
  }),
})

const Signals = Type.Object(
  {
    rsi: Label,
    trend: Label,
    bollinger: Label,
    zscore: Label,
    vwap: Type.Optional(Label),
    funding: Type.Optional(Label),
    oi: Type.Optional(Label),
  },
  {
    description:
      'Label of each signal; those of candles abstain on a timeframe whose last 20 closes are equal.',
  },
)

const FamilyNet = nullable(
  Type.Number({ minimum: -1, maximum: 1, description: 'null: none of its signals is present.' }),
)

export const PulseAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: Type.Object({ current: Type.Number({ description: 'Mid price, USD.' }) }),
  timeframes: Type.Object({
    '15m': Type.Optional(TimeframeAnswer),
    '1h': Type.Optional(TimeframeAnswer),
    '4h': Type.Optional(TimeframeAnswer),
  }),
  derivatives: Type.Object({
    funding_rate: Type.Number({
      description: 'Running hourly rate as a fraction; positive: longs pay.',
    }),
    funding_annualized_pct: Type.Number({
      description: 'funding_rate x (24 / funding_interval_hours) x 365, percent.',
    }),
    funding_interval_hours: Type.Literal(1, { description: 'Between two payments, hours.' }),
    open_interest: nullable(
      Type.Number({
        description:
          'One-sided, at the mark price, USD. null for a builder-deployed dex whose dex.usd_per_quote_unit is null.',
      }),
    ),
    open_interest_contracts: Type.Number({ description: "One-sided, in the coin's unit." }),
    impact_bid: nullable(
      Type.Number({
        description:
          "The venue's impact price for a sale, USD, of the instant meta.as_of.funding; null where it has none. With the warning leg_skew price.current is newer and does not lie between the two.",
      }),
    ),
    impact_ask: nullable(
      Type.Number({
        description: "The venue's impact price for a buy, USD; as impact_bid.",
      }),
    ),
    spread_bps: nullable(Type.Number({ description: 'Best ask against best bid, over mid.' })),
  }),
  regime: Type.Object({
    current: oneOf(regimeLabels, 'UNKNOWN: too little of the market is known.'),
    as_of: Type.Integer({ description: 'Of the last evaluation, Unix seconds.' }),
    score: nullable(
      Type.Number({
        minimum: -1,
        maximum: 1,
        description: 'Sum of the contributions: 1 risk on, -1 risk off.',
      }),
    ),
    previous: nullable(oneOf(regimeLabels)),
    since: nullable(Type.Integer({ description: 'When the present label began, Unix seconds.' })),
    drivers: Type.Array(
      Type.Object({
        name: oneOf(driverNames),
        value: Type.Number({ minimum: -1, maximum: 1, description: '1 risk on, -1 risk off.' }),
        contribution: Type.Number({ description: 'Its weight times value.' }),
      }),
    ),
    rule_version: Type.String(),
  }),
  confluence: Type.Object({
    score: Type.Number({ minimum: 0, maximum: 1, description: 'Strength of agreement: abs(net).' }),
    bias: Label,
    signals: Signals,
    bullish_count: Type.Integer({ minimum: 0, description: 'Number of bullish signals.' }),
    bearish_count: Type.Integer({ minimum: 0, description: 'Number of bearish signals.' }),
    net: Type.Number({
      minimum: -1,
      maximum: 1,
      description: 'Sum of weight x (bullish 1, neutral 0, bearish -1) over the sum of weights.',
    }),
    weights: Type.Record(Type.String(), Type.Number(), {
      description: 'Weight of each signal in net.',
    }),
    vote_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Unweighted mean of bullish 1, neutral 0.5, bearish 0.',
    }),
    families: Type.Object({
      trend_following: FamilyNet,
      mean_reversion: FamilyNet,
      contrarian: FamilyNet,
      flow: FamilyNet,
    }),
    per_timeframe: Type.Record(
      Type.String(),
      Type.Object({
        net: Type.Number({ description: 'As net, of this timeframe alone, -1 to 1.' }),
        bias: Label,
      }),
    ),
    aligned: Type.Boolean({ description: 'Every requested timeframe has the same bias.' }),
    conflicts: Type.Array(Type.Tuple([oneOf(families), oneOf(families)]), {
      description: 'Families that point in opposite directions.',
    }),
    calibration: Type.Null({ description: 'Hit rate of past answers; null until measured.' }),
    validated: Type.Literal(false, {
      description: 'The score is agreement among indicators, not yet a measured hit rate.',
    }),
  }),
  meta: Type.Object({
    ...metaMembers,
    offering: Type.Literal('service_pulse'),
    coins_available: Type.Integer({
      minimum: 0,
      description: 'Number of coins that /coins lists at this moment.',
    }),
  }),
})
