import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { coinMembers, metaMembers, oneOf } from '../../render/answer-schema.ts'
import { riskFlags } from './risk-flags.ts'
import { biases, voters } from './summary.ts'

const Usdc = (what: string) => Type.String({ description: `${what}, USDC, a decimal number.` })

/** @param components the published answers that it holds, unchanged, so that one parser serves both */
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
          'Sign of 0.6 x pulse.confluence.bias + 0.2 x sentiment.overall + 0.2 x funding read against the crowd, each -1, 0 or 1.',
        ),
        confidence: Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'Absolute value of that sum, 0 to 1.',
        }),
        agree_count: Type.Integer({
          minimum: 0,
          maximum: 3,
          description: 'How many of the three point where bias does.',
        }),
        conflicts: Type.Array(
          Type.Object({
            between: Type.Array(oneOf(voters), { minItems: 2, maxItems: 2 }),
            detail: Type.String(),
          }),
          { maxItems: 2, description: 'Components that point in opposite directions.' },
        ),
        risk_flags: Type.Array(
          oneOf(
            riskFlags,
            'crowded_long, crowded_short: funding is unusual. thin_liquidity: liquidity_label THIN. high_volatility: ATR on 1h from the 80th percentile of its 30 days on. stale_input: one was late at timestamp_iso. weak_peg: USDC is off its peg.',
          ),
        ),
      },
      { description: 'What the components say together.' },
    ),
    meta: Type.Object({
      ...metaMembers,
      offering: Type.Literal('service_bundle'),
      bundle: Type.Literal(true),
      components: Type.Array(oneOf(Object.keys(components) as (keyof Components & string)[])),
      price_usdc: Usdc('What this bundle costs'),
      list_price_usdc: Usdc('What its components cost one by one'),
      discount_pct: Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'What is saved by that, percent.',
      }),
    }),
  })
}
