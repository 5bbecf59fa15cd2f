import type { ConsoleOffer } from '../../domain/console-protocol.ts'

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
  const [pathname = '', query] = path.split('?')
  const [, analysis = '', coin = ''] = pathname.split('/')
  return { analysis, coin: decoded(coin), search: query === undefined ? '' : `?${query}` }
}

export function pathOfCall({ analysis, coin, search }: Call): string {
  return `/${analysis}${coin === '' ? '' : `/${encodeURIComponent(coin)}`}${search}`
}

/** @param coin for an offer about one */
export function pathOfOffer({ id, scope }: ConsoleOffer, coin: string): string {
  return pathOfCall({ analysis: id, coin: scope === 'coin' ? coin : '', search: '' })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
