import { Type } from 'typebox'
import { coinMembers, freshnessMembers, metaMembers, nullable } from '../render/answer-schema.ts'
import { dexMembers } from '../render/quote-unit.ts'

/** Members of `meta` of a document that is not sold. */
export const chartMeta = Type.Object({
  ...freshnessMembers,
  snapshot_id: metaMembers.snapshot_id,
})

function prices(description: string) {
  return Type.Array(Type.Number({ exclusiveMinimum: 0 }), { description })
}

function values(description: string) {
  return Type.Array(nullable(Type.Number()), { description })
}

const UNSETTLED = 'null until enough earlier bars are available'

export const ChartAnswer = Type.Object(
  {
    ...coinMembers,
    ...dexMembers,
    bars: Type.Object(
      {
        time_ms: Type.Array(Type.Integer({ minimum: 0 }), {
          description: 'Open times of the bars, Unix ms, ascending.',
        }),
        open: prices('First price of each bar, USD.'),
        high: prices('Highest price of each bar, USD.'),
        low: prices('Lowest price of each bar, USD.'),
        close: prices('Last price of each bar, USD.'),
        volume: Type.Array(Type.Number({ minimum: 0 }), {
          description: "Traded volume of each bar, in the coin's unit.",
        }),
      },
      {
        description:
          'Up to 240 closed 1h bars and, last, the forming one. All columns of this answer have one entry for each bar.',
      },
    ),
    indicators: Type.Object(
      {
        ema_20: values(`EMA over 20 closes, USD; ${UNSETTLED}.`),
        ema_50: values(`EMA over 50 closes, USD; ${UNSETTLED}.`),
        ema_200: values(`EMA over 200 closes, USD; ${UNSETTLED}.`),
        bollinger_upper: values(
          'bollinger_middle plus 2 population standard deviations, USD; null with fewer bars.',
        ),
        bollinger_middle: values('Simple moving average of 20 closes, USD; null with fewer bars.'),
        bollinger_lower: values(
          'bollinger_middle minus 2 population standard deviations, USD; null with fewer bars.',
        ),
        rsi_14: values(`Wilder RSI over 14 bars, 0 to 100; ${UNSETTLED}.`),
        vwap_20: values(
          'Volume-weighted average of the typical price over 20 bars, USD; null with fewer bars or without volume.',
        ),
      },
      {
        description:
          'Indicators of /pulse at the close of each bar; for the forming bar as if it closed now, with all digits of /pulse.',
      },
    ),
    open_interest: Type.Array(nullable(Type.Number({ minimum: 0 })), {
      description:
        "Open interest at the start of each bar, in the coin's unit, one-sided; null if unknown.",
    }),
    meta: chartMeta,
  },
  { description: 'Hourly candles of one coin with indicators and open interest.' },
)
