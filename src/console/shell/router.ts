import { computed, signal } from '@preact/signals'

/** A place in the console: `#/coin/BTC?timeframe=1h`. The whole state of a view is in it, so that it can be shared. */
export type Place = {
  readonly view: string
  /** The coin, for views about one. */
  readonly subject: string
  readonly query: URLSearchParams
}

const hash = signal(isPlace(location.hash) ? location.hash : '')
addEventListener('hashchange', () => {
  if (isPlace(location.hash)) hash.value = location.hash
})

/** Any other hash, such as `#content`, is a part of the page and keeps the place. */
function isPlace(text: string): boolean {
  return text === '' || text.startsWith('#/')
}

/** Of a path that a browser has opened: `/status`, or a paid one, whose purchase it sees. */
const opened = location.pathname === '/status' ? '#/status' : '#/buy'

export const place = computed(() =>
  placeOf(hash.value === '' && location.pathname !== '/' ? opened : hash.value),
)

/** @param text such as `#/coin/BTC?timeframe=1h` */
function placeOf(text: string): Place {
  const [path = '', query = ''] = text.replace(/^#?\/?/, '').split('?')
  const [view = '', ...rest] = path.split('/')
  return { view, subject: decoded(rest.join('/')), query: new URLSearchParams(query) }
}

/** Empty for what no link of ours is, such as `%`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export function hrefOf(
  view: string,
  subject = '',
  query: URLSearchParams = new URLSearchParams(),
): string {
  const path = subject === '' ? `#/${view}` : `#/${view}/${encodeURIComponent(subject)}`
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}

export function navigate(href: string): void {
  location.hash = href
}

/** Changes one parameter of the current place; null removes it. The history gets no entry. */
export function setParameter(name: string, value: string | null): void {
  const { view, subject, query } = place.value
  const changed = new URLSearchParams(query)
  if (value === null) changed.delete(name)
  else changed.set(name, value)
  history.replaceState(null, '', hrefOf(view, subject, changed))
  hash.value = location.hash
}
