import { Type } from 'typebox'
import { sectors } from '../../domain/sectors.ts'
import { coinMembers, nullable, oneOf, text } from '../render/answer-schema.ts'
import { chartMeta } from './chart-schema.ts'

export const OverviewAnswer = Type.Object(
  {
    timestamp_iso: coinMembers.timestamp_iso,
    closes_from_ms: nullable(
      Type.Integer({
        description:
          'Open time of the first hour in every list of closes, Unix ms; an entry is one hour later than the one before. null while no close is known.',
      }),
    ),
    funding_from_ms: nullable(
      Type.Integer({
        description:
          'Time of the first settlement in every list of funding rates, Unix ms; an entry is one hour later than the one before. null while no settled rate is known.',
      }),
    ),
    coins: Type.Array(
      Type.Object({
        coin: text("The venue's spelling."),
        sector: nullable(
          oneOf(sectors, 'Main use of the coin; null for a coin without a sector, such as BTC.'),
        ),
        closes: Type.Array(nullable(Type.Number({ exclusiveMinimum: 0 })), {
          description: 'Closes of the last 24 closed hours, USD; null if unknown.',
        }),
        funding_bps: Type.Array(nullable(Type.Number()), {
          description:
            'Hourly funding rates of the last 72 settlements, basis points, positive when longs pay; null while the venue has not reported the settled rate.',
        }),
      }),
      { description: 'All tradable coins, in the order of the venue.' },
    ),
    meta: chartMeta,
  },
  { description: 'Recent hours of every coin: closes and settled funding.' },
)
