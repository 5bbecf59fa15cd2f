import type { Dot } from '../../charts/dot-plot.tsx'
import type { AnswerOf } from '../../live/use-document.ts'

const BPS = 10_000

type GapDots = {
  /** Of exchanges and the perpetual. */
  readonly books: readonly Dot[]
  /** Of pools and oracle networks. */
  readonly chains: readonly Dot[]
}

/** Prices relative to the price of the exchanges, in basis points. */
export function gapDots(answer: AnswerOf<'cex-dex'>): GapDots {
  const gapOf = (price: number) => (price / answer.cex_price - 1) * BPS
  const dot = (name: string, price: number | null, isUsed: boolean, error: number | null): Dot[] =>
    price === null ? [] : [{ name, value: gapOf(price), error, isUsed }]
  const books = [
    ...answer.exchanges.venues.flatMap(({ exchange, quote, mid, is_used, spread_bps }) =>
      dot(`${exchange}, ${quote}`, mid, is_used, spread_bps / 2),
    ),
    ...dot('perpetual, mid', answer.perp.mid, false, null),
    ...dot('venue oracle', answer.perp.oracle, false, null),
  ]
  const chains = [
    ...answer.onchain.flatMap(
      ({ chain, dex, representation, price, is_used, expected_error_bps }) =>
        dot(`${chain}, ${dex} ${representation}`, price, is_used, expected_error_bps),
    ),
    ...answer.oracle_networks.flatMap(({ network, place, price, is_used, expected_error_bps }) =>
      dot(place === '' ? network : `${network}, ${place}`, price, is_used, expected_error_bps),
    ),
  ]
  return { books, chains }
}
