import type { FastifyRequest } from 'fastify'
import type { PaidRoute } from './terms.ts'
import { RESOURCE_URL_CHARS_MAX } from './terms.ts'

/**
 * Absolute URL of the sold resource. The base is configured, because the caller controls the Host header and an
 * absolute-form target. Only characters of RFC 3986 remain, so it needs no JSON escaping.
 */
export function resourceUrl(request: FastifyRequest, publicUrl: string): string {
  return (publicUrl + originForm(request.url))
    .replace(/[^\w\-.~:/?#[\]@!$&'()*+,;=%]/g, '')
    .slice(0, RESOURCE_URL_CHARS_MAX)
}

/** Path of a request target, also in absolute form, without the query. */
export function requestPath(url: string): string {
  const target = originForm(url)
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/**
 * Identifies the purchased call: equal for all spellings of a call for one document, different for calls that can be
 * answered differently.
 */
export function bindingOf(
  request: FastifyRequest,
  { documentOf }: Pick<PaidRoute, 'documentOf'>,
): string {
  const name = documentOf?.(request) ?? null
  const asked =
    name === null ? [sortedEntries(request.params), sortedEntries(request.query)] : [name]
  return JSON.stringify([request.method, request.routeOptions.url, ...asked])
}

function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

function sortedEntries(value: unknown): (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}
