/**
 * On every response. Nearly all of them are JSON, which no browser runs while it believes the type that we state;
 * the dozen other headers that the usual plugin sets are for pages, and cost more than the whole server.
 */
export const securityHeaders = { 'x-content-type-options': 'nosniff' } as const

/**
 * Where a machine that knows nothing but one URL finds the rest. On everything but an answer: who has
 * that found us, and a header costs a read as much as all checks before it.
 */
export const discoveryHeaders = {
  link: '</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </health>; rel="status"',
} as const

/**
 * For callers that name an origin. Agents also run in browsers, and without the exposed names such a
 * page cannot read the terms of payment and cannot pay.
 */
export const crossOriginHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, EXTENSION-RESPONSES, ETag, RateLimit, ' +
    'RateLimit-Policy, Retry-After, Server-Timing, Link, X-Request-Id, Preference-Applied, ' +
    'A2A-Extensions, X-A2A-Extensions',
} as const

/**
 * Browsers keep a preflight answer no longer than two hours. The x402 clients for fetch and axios send
 * Access-Control-Expose-Headers, a header of responses, with the request that pays.
 */
export const preflightHeaders = {
  'access-control-allow-headers':
    'X-PAYMENT, PAYMENT-SIGNATURE, SIGN-IN-WITH-X, If-None-Match, Prefer, Content-Type, ' +
    'MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, ' +
    'A2A-Version, A2A-Extensions, X-A2A-Extensions, Access-Control-Expose-Headers',
  'access-control-max-age': '7200',
} as const
