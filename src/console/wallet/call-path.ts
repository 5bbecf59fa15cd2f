import type { ConsoleOffer } from '../../domain/console-protocol.ts'
import { percentDecoded } from '../../domain/percent-decoded.ts'

/** A call as its parts, so that a page can change one. */
export type Call = {
  /** Id of the analysis. */
  readonly analysis: string
  /** '' for the whole market. */
  readonly coin: string
  /** With `?`, or ''. */
  readonly search: string
}

/** @param path such as `/pulse/BTC?view=compact` */
export function callOf(path: string): Call {
  const [pathname = '', ...query] = path.split('?')
  const [, analysis = '', coin = ''] = pathname.split('/')
  return { analysis, coin: percentDecoded(coin), search: ['', ...query].join('?') }
}

export function pathOfCall({ analysis, coin, search }: Call): string {
  return `/${analysis}${coin === '' ? '' : `/${encodeURIComponent(coin)}`}${search}`
}

/** What the views show of analyses with parameters; each costs what the call without them does. */
const searches: ReadonlyMap<string, string> = new Map([
  ['pulse', '?timeframes=15m,1h,4h'],
  ['screener', '?view=full&top_n=100'],
  ['sentiment', '?bucket=all'],
])

/** The call of an offer, which is the one that a view shows: so the view does not offer a bought answer again. */
export function pathOfOffer(
  { id, scope }: Pick<ConsoleOffer, 'id' | 'scope'>,
  coin: string,
): string {
  const search = searches.get(id) ?? ''
  return pathOfCall({ analysis: id, coin: scope === 'coin' ? coin : '', search })
}
