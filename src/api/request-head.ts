import type { IncomingMessage } from 'node:http'
import type { Refusal } from './send-problem.ts'
import { refusal } from './send-problem.ts'

/** Node silently drops headers beyond its limit, so its limit is one higher. */
export const HEADERS_MAX = 100

export const malformedUrl = refusal('invalid_parameter', {
  detail: 'The request target is not a valid URL, or its path has an invalid percent-encoding.',
  param: 'path',
})

/** Characters of a name, an address or a port (RFC 3986 3.2.2 and 3.2.3); no user and no path. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/

/**
 * Refuses ambiguous headers. RFC 9112 3.2 requires exactly one valid `Host` line: of two, Node takes the first, and a
 * proxy may have taken the second.
 */
export function headRefusal({ rawHeaders, httpVersion }: IncomingMessage): Refusal | null {
  if (rawHeaders.length > 2 * HEADERS_MAX)
    return refusal('header_too_large', {
      detail: `A request may have at most ${HEADERS_MAX} header lines.`,
      // A payment may be in a line that was dropped.
      charged: null,
    })
  const [host, ...others] = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host',
  )
  if (others.length > 0)
    return badHost('The request has several Host headers; exactly one is required.')
  if (host === undefined)
    return httpVersion === '1.0'
      ? null
      : badHost('The request has no Host header; HTTP/1.1 requires one.')
  return HOST.test(host) ? null : badHost('The Host header is not a valid name or address.')
}

function badHost(detail: string): Refusal {
  return refusal('invalid_parameter', { detail, param: 'Host' })
}
