import type { ContextEvent } from '../../domain/event.ts'

export type ImpactPrices = {
  readonly bid: number | null
  readonly ask: number | null
  /** The impact prices contradict the quote, so both are of different instants. */
  readonly isSkewed: boolean
}

/**
 * The venue's average prices for its impact notional where they agree with a quote: a sale gets at most the best bid, a
 * buy pays at least the best ask.
 * @param bid, ask best levels, or mid for both; null for none
 */
export function impactPrices(
  context: ContextEvent | null,
  { bid, ask }: { readonly bid: number | null; readonly ask: number | null },
): ImpactPrices {
  const [impactBid, impactAsk] = [context?.impactBid ?? null, context?.impactAsk ?? null]
  const isSkewed =
    (impactBid !== null && bid !== null && impactBid > bid) ||
    (impactAsk !== null && ask !== null && impactAsk < ask)
  return isSkewed
    ? { bid: null, ask: null, isSkewed }
    : { bid: impactBid, ask: impactAsk, isSkewed }
}
