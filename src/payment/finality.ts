/**
 * Settlement finality that is required before an answer is sent. `confirmed`: in a block; on Solana, voted for by a
 * supermajority. `preconfirmed`: in a flashblock of the sequencer. `broadcast`: a verified transfer was submitted.
 */
export const finalities = ['confirmed', 'preconfirmed', 'broadcast'] as const
export type Finality = (typeof finalities)[number]

/** Highest price of the rule, in USDC atoms; null for every price. */
export type FinalityRule = { readonly finality: Finality; readonly upTo: bigint | null }

/** Finality of the first rule that covers the price; `confirmed` without one. */
export function finalityOf(rules: readonly FinalityRule[], amount: bigint): Finality {
  const rule = rules.find(({ upTo }) => upTo === null || amount <= upTo)
  return rule?.finality ?? 'confirmed'
}
