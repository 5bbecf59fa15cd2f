import { Type } from 'typebox'
import { timeframes } from '../../../domain/timeframe.ts'
import { families, signalNames } from '../../confluence/confluence.ts'
import { driverNames, regimeLabels } from '../../regime/regime-rule.ts'
import {
  coinMembers,
  count,
  flag,
  fraction,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  partialMap,
  percentage,
  signedFraction,
  text,
} from '../../render/answer-schema.ts'
import { dexMembers } from '../../render/quote-unit.ts'
import { recordMember } from '../../track-record-statistics/record-member.ts'

const Label = oneOf(['bullish', 'bearish', 'neutral'])

const Indicators = Type.Object({
  rsi_14: percentage('Wilder RSI over 14 bars; 0 for a constant series, as in TA-Lib.'),
  rsi_zone: oneOf(
    ['overbought', 'bullish', 'neutral', 'bearish', 'oversold'],
    'overbought: 70 and above; bullish: 60 to below 70; neutral: between 40 and 60; bearish: above 30 to 40; oversold: 30 and below. Always neutral while the last 20 closes are equal.',
  ),
  atr_14: nonNegative('Wilder average true range over 14 bars, USD.'),
  atr_pct: nonNegative('atr_14 / close, percent.'),
  ema_20: number('EMA over 20 closes, seeded with the mean of the first 20, USD.'),
  ema_50: number('EMA over 50 closes, likewise, USD.'),
  ema_200: nullable(
    number(
      'EMA over 200 closes, USD; null while the seed can still move it by more than 0.01 % of price (see insufficient_bars).',
    ),
  ),
  vwap_20: nullable(
    number('Volume-weighted average of the typical price over 20 bars, USD; null without volume.'),
  ),
  zscore_100: nullable(
    number(
      'Distance of the close from the mean of 100 closes, forming bar included, in population standard deviations; null if all are equal.',
    ),
  ),
  bollinger: Type.Object({
    upper: number('middle plus 2 population standard deviations, USD.'),
    middle: number('Simple moving average of 20 closes, USD.'),
    lower: number('middle minus 2 population standard deviations, USD.'),
    width_pct: nonNegative('(upper - lower) / middle, percent.'),
    position_pct: nullable(
      number(
        'Position of the close as a fraction: 0 = lower band, 1 = upper band; null if the bands coincide.',
      ),
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
        'flat: all three EMAs within 0.1 % of price. bull_aligned: 20 > 50 > 200. bear_aligned: 20 < 50 < 200. null without ema_200.',
      ),
    ),
  }),
})

const TimeframeAnswer = Type.Object({
  indicators: Indicators,
  bars: Type.Integer({
    minimum: 1,
    description: 'Number of consecutive candles used, forming one included.',
  }),
  bars_is_whole_history: flag('true: the coin has no older candles.'),
  insufficient_bars: Type.Array(
    Type.Object({
      field: text('Indicator that is null.'),
      have: Type.Integer({ minimum: 1, description: 'Number of candles; equals bars.' }),
      need: Type.Integer({
        minimum: 1,
        description: 'Number of candles needed until the seed moves it by at most 0.01 percent.',
      }),
    }),
    {
      description:
        'Indicators that are null until older candles are loaded; sets the warning short_history.',
    },
  ),
  candle_freshness_seconds: nonNegative(
    'Seconds since the venue last confirmed this candle series.',
  ),
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
      'Label of each signal. Candle signals are neutral on a timeframe whose last 20 closes are equal.',
  },
)

const FamilyNet = nullable(
  signedFraction('As net, over the signals of this family, -1 to 1; null without signals.'),
)

export const PulseAnswer = Type.Object({
  ...coinMembers,
  ...dexMembers,
  price: Type.Object({
    current: number('Mid price, USD; with the warning thin_book the mark price.'),
  }),
  timeframes: Type.Object({
    '15m': Type.Optional(TimeframeAnswer),
    '1h': Type.Optional(TimeframeAnswer),
    '4h': Type.Optional(TimeframeAnswer),
  }),
  derivatives: Type.Object({
    funding_rate: number(
      "The venue's running estimate of the next hourly rate, as a fraction; positive: longs pay shorts.",
    ),
    funding_annualized_pct: number(
      'funding_rate x (24 / funding_interval_hours) x 365 x 100, percent per year.',
    ),
    funding_interval_hours: Type.Literal(1, { description: 'Hours between two payments.' }),
    open_interest: nullable(
      number(
        'Open interest, one-sided, at the mark price, USD; null if dex.usd_per_quote_unit is.',
      ),
    ),
    open_interest_contracts: number("Open interest in contracts, one-sided, in the coin's unit."),
    impact_bid: nullable(
      number(
        "The venue's impact price for a sell order, USD, as of meta.as_of.funding; null if the venue has none. With the warning leg_skew price.current is newer and lies outside the two.",
      ),
    ),
    impact_ask: nullable(number("The venue's impact price for a buy order, USD; as impact_bid.")),
    spread_bps: nullable(
      number('(best ask - best bid) / mid price; null without a two-sided quote.'),
    ),
  }),
  regime: Type.Object({
    current: oneOf(regimeLabels, 'Regime of the whole market. UNKNOWN: insufficient data.'),
    as_of: Type.Integer({ description: 'Time of the last evaluation, Unix seconds.' }),
    score: nullable(
      signedFraction('Sum of the contributions, 1 risk on to -1 risk off; null if UNKNOWN.'),
    ),
    previous: nullable(oneOf(regimeLabels, 'Label before `since`; null before any change.')),
    since: nullable(
      Type.Integer({
        description: 'Start of the present label, Unix seconds; null before the first evaluation.',
      }),
    ),
    drivers: Type.Array(
      Type.Object({
        name: oneOf(driverNames),
        value: signedFraction('1 risk on to -1 risk off.'),
        contribution: number('Weight x value.'),
      }),
    ),
    rule_version: text('Version of the regime rule.'),
  }),
  confluence: Type.Object({
    score: fraction('abs(net): agreement of the signals, not a probability.'),
    bias: Label,
    signals: Signals,
    bullish_count: count('Number of bullish signals.'),
    bearish_count: count('Number of bearish signals.'),
    net: signedFraction('Weighted mean of the signals: bullish 1, neutral 0, bearish -1.'),
    weights: partialMap(signalNames, Type.Number(), 'Weight of each signal in net.'),
    vote_share: fraction('Unweighted mean of the signals: bullish 1, neutral 0.5, bearish 0.'),
    families: Type.Object({
      trend_following: FamilyNet,
      mean_reversion: FamilyNet,
      contrarian: FamilyNet,
      flow: FamilyNet,
    }),
    per_timeframe: partialMap(
      timeframes,
      Type.Object({
        net: number('As net, for the candle signals of this timeframe, -1 to 1.'),
        bias: Label,
      }),
    ),
    aligned: flag('All requested timeframes have the same bias.'),
    conflicts: Type.Array(Type.Tuple([oneOf(families), oneOf(families)]), {
      description: 'Pairs of families with opposite net.',
    }),
    calibration: Type.Null({
      description: 'Always null; track_record has the share that came true.',
    }),
    validated: Type.Literal(false, {
      description:
        'false: the score measures agreement of indicators, not a probability of later prices; track_record compares the bias with them.',
    }),
    bias_supported: nullable(
      oneOf(
        ['bullish', 'bearish', 'neutral'],
        'bias, if track_record.status is supported; else null.',
      ),
    ),
    track_record: recordMember,
  }),
  meta: Type.Object({
    ...metaMembers,
    offering: Type.Literal('service_pulse'),
    coins_available: count('Number of coins in /coins.'),
  }),
})
