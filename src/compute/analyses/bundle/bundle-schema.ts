import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import {
  coinMembers,
  fraction,
  metaMembers,
  nullable,
  oneOf,
  percentage,
  text,
} from '../../render/answer-schema.ts'
import { riskFlags } from './risk-flags.ts'
import { biases, voters } from './summary.ts'

const Usdc = (what: string) => text(`${what}, USDC, a decimal number.`)

/** @param components schemas of the component answers, which the bundle holds unchanged */
export function bundleAnswer<Components extends Readonly<Record<string, TSchema>>>(
  components: Components,
) {
  return Type.Object({
    ...coinMembers,
    ...components,
    summary: Type.Object(
      {
        bias: oneOf(
          biases,
          'Sign of 0.6 x pulse.confluence.bias + 0.2 x sentiment.overall + 0.2 x funding (contrarian: crowded longs -1, crowded shorts 1), each -1, 0 or 1; an unknown vote counts as 0.',
        ),
        bias_supported: nullable(
          oneOf(
            biases,
            'pulse.confluence.bias_supported: the directions of sentiment and funding have no record.',
          ),
        ),
        confidence: fraction('Absolute value of the weighted sum of bias, 0 to 1.'),
        agree_count: Type.Integer({
          minimum: 0,
          maximum: 3,
          description: 'Number of the three votes that equal bias; an unknown vote equals none.',
        }),
        conflicts: Type.Array(
          Type.Object({
            between: Type.Array(oneOf(voters), { minItems: 2, maxItems: 2 }),
            detail: text('The conflict in words.'),
          }),
          { maxItems: 2, description: 'Pairs of components with opposite votes.' },
        ),
        risk_flags: Type.Array(
          oneOf(
            riskFlags,
            'crowded_long, crowded_short: funding vote -1 or 1. thin_liquidity: liquidity_label is THIN. high_volatility: 1h ATR at or above the 80th percentile of its 30 days. stale_input: an input was late at timestamp_iso; for later times see meta.quality.grade. weak_peg: peg_status of /depeg is WARNING or CRITICAL.',
          ),
        ),
      },
      { description: 'Combined direction of the components.' },
    ),
    meta: Type.Object({
      ...metaMembers,
      offering: Type.Literal('service_bundle'),
      bundle: Type.Literal(true),
      components: Type.Array(oneOf(Object.keys(components) as (keyof Components & string)[])),
      price_usdc: Usdc('Price of this bundle'),
      list_price_usdc: Usdc('Sum of the prices of the components'),
      discount_pct: percentage('Discount against list_price_usdc, percent.'),
    }),
  })
}
