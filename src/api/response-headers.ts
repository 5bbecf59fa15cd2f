/** On every response. Written by hand: the usual plugin for this costs more than the whole server. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/**
 * Agents also run in browsers. Without the exposed names such a page cannot read the terms of payment
 * and cannot pay.
 */
export const publicHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, EXTENSION-RESPONSES, ETag, RateLimit, ' +
    'RateLimit-Policy, Retry-After, Server-Timing, Link, X-Request-Id',
  link: '</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </health>; rel="status"',
} as const

/** Browsers keep a preflight answer no longer than two hours. */
export const preflightHeaders = {
  'access-control-allow-headers':
    'X-PAYMENT, PAYMENT-SIGNATURE, SIGN-IN-WITH-X, If-None-Match, Content-Type',
  'access-control-max-age': '7200',
} as const
