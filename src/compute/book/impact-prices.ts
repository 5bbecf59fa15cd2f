import type { ContextEvent } from '../../domain/event.ts'

export type ImpactPrices = {
  readonly bid: number | null
  readonly ask: number | null
  /** They contradict the quote: the two are of different instants. */
  readonly isSkewed: boolean
}

/**
 * The venue's average prices for its impact notional, as far as they agree with a quote: a sale gets no more than
 * the best bid, a buy no less than the best ask.
 * @param bid, ask the best ones, or the mid for both; null where there is none
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
