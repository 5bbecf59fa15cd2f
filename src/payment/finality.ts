/**
 * How sure we are of the money before the answer leaves. `confirmed`: in a block (on Solana: voted for by a
 * supermajority). `preconfirmed`: the sequencer promised its place in the next one. `broadcast`: a verified
 * transfer was handed to the chain, and nothing more is known.
 */
export const finalities = ['confirmed', 'preconfirmed', 'broadcast'] as const
export type Finality = (typeof finalities)[number]

/** Up to which price that is enough, in USDC atoms; null for every price. */
export type FinalityRule = { readonly finality: Finality; readonly upTo: bigint | null }

/** The first rule that holds for the price. What no rule speaks of is confirmed. */
export function finalityOf(rules: readonly FinalityRule[], amount: bigint): Finality {
  const rule = rules.find(({ upTo }) => upTo === null || amount <= upTo)
  return rule?.finality ?? 'confirmed'
}
