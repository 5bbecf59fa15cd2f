import type { IncomingMessage } from 'node:http'
import type { Refusal } from './send-problem.ts'
import { refusal } from './send-problem.ts'

/** Node drops the headers beyond its bound without a word, so it is given one more than is accepted. */
export const HEADERS_MAX = 100

/** Characters of a name, an address or a port (RFC 3986 3.2.2 and 3.2.3); no user and no path. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/

/**
 * Refuses a request whose headers mean different things to different readers. RFC 9112 3.2 wants exactly one valid
 * `Host` line: of two, Node takes the first, and a proxy before us may have taken the second.
 */
export function headRefusal({ rawHeaders, httpVersion }: IncomingMessage): Refusal | null {
  if (rawHeaders.length > 2 * HEADERS_MAX)
    return refusal('header_too_large', {
      detail: `A request has at most ${HEADERS_MAX} header lines; send fewer.`,
    })
  const [host, ...others] = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host',
  )
  if (others.length > 0) return badHost('A request has one Host header; this one has several.')
  if (host === undefined)
    return httpVersion === '1.0'
      ? null
      : badHost('A request of HTTP/1.1 has a Host header; this one has none.')
  return HOST.test(host) ? null : badHost('The Host header is neither a name nor an address.')
}

function badHost(detail: string): Refusal {
  return refusal('invalid_parameter', { detail, param: 'Host' })
}
