import { callOf, pathOfOffer } from '../../wallet/call-path.ts'

/** What the view of a coin shows of what is sold. */
const analyses = [
  'pulse',
  'liquidations',
  'funding',
  'basis',
  'oi',
  'spread',
  'volatility',
  'cex-dex',
] as const

/** Name of the answer that the view of a coin shows: the call that an offer of it leads to. */
export function documentName(analysis: (typeof analyses)[number], coin: string): string {
  return pathOfOffer({ id: analysis, scope: 'coin' }, coin)
}

export function chartName(coin: string): string {
  return `/chart/${encodeURIComponent(coin)}`
}

/** Whether the view of a coin shows the answer to this call: with other parameters it is another document. */
export function isShownOfCoin(path: string): boolean {
  const { coin } = callOf(path)
  return coin !== '' && analyses.some((analysis) => documentName(analysis, coin) === path)
}
