import { Type } from 'typebox'
import { coinMembers, metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'

const Usd = Type.Number({
  minimum: 0,
  description:
    'Resting notional, USD; a lower bound where the visible book ends nearer: see bid_visible_bps and ask_visible_bps.',
})

export const SpreadAnswer = Type.Object({
  ...coinMembers,
  mid_price: Type.Number({ description: '(best_bid + best_ask) / 2, USD.' }),
  spread: Type.Object({
    best_bid: Type.Number(),
    best_ask: Type.Number(),
    bid_ask_bps: Type.Number({ minimum: 0, description: '(best_ask - best_bid) / mid_price.' }),
    impact_bid: nullable(Type.Number({ description: "The venue's impact price for a sale, USD." })),
    impact_ask: nullable(Type.Number({ description: "The venue's impact price for a buy, USD." })),
    impact_spread_bps: nullable(Type.Number()),
    slippage_10k_bps: slippage(10_000),
    slippage_50k_bps: slippage(50_000),
    slippage_100k_bps: slippage(100_000),
    slippage_500k_bps: slippage(500_000),
    slippage: Type.Array(
      Type.Object({
        notional_usd: Type.Number(),
        buy_bps: nullable(Type.Number()),
        sell_bps: nullable(Type.Number()),
        filled_pct: Type.Number({
          minimum: 0,
          maximum: 100,
          description: 'Share that the visible book fills on its worse side.',
        }),
        method: oneOf(
          ['book_walk', 'model'],
          'model: square-root extrapolation beyond the visible book.',
        ),
      }),
    ),
    depth: Type.Object({
      bid_5bps_usd: Usd,
      ask_5bps_usd: Usd,
      bid_10bps_usd: Usd,
      ask_10bps_usd: Usd,
      bid_50bps_usd: Usd,
      ask_50bps_usd: Usd,
      bid_visible_bps: Type.Number({ description: 'Depth is known up to this distance only.' }),
      ask_visible_bps: Type.Number({ description: 'Depth is known up to this distance only.' }),
    }),
    imbalance: Type.Number({
      minimum: -1,
      maximum: 1,
      description: '(bid - ask) / (bid + ask) of the depth within 10 bps.',
    }),
    max_size_10bps_is_floor: Type.Boolean({
      description: 'The visible book ends within 10 bps: more may be had than is shown.',
    }),
    max_size_10bps_usd: Type.Number({
      minimum: 0,
      description: 'Largest notional that both sides fill within 10 bps of mid on average.',
    }),
    liquidity_score: Type.Integer({ minimum: 1, maximum: 10 }),
    liquidity_label: oneOf(['DEEP', 'GOOD', 'FAIR', 'THIN']),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_spread') }),
})

function slippage(notionalUsd: number) {
  return nullable(
    Type.Number({
      minimum: 0,
      description: `Average price against mid for ${notionalUsd} USD on the worse side; null when the visible book is too small.`,
    }),
  )
}
