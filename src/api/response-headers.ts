/** On every response. The other headers of helmet concern pages and would cost more than the rest of a request. */
export const securityHeaders = { 'x-content-type-options': 'nosniff' } as const

/** Links to the documents, on all responses except answers, where they would cost as much as all checks. */
export const discoveryHeaders = {
  link: '</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </health>; rel="status"',
} as const

/** For requests with an origin: without the exposed headers an agent in a browser cannot read the payment terms. */
export const crossOriginHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, EXTENSION-RESPONSES, ETag, RateLimit, ' +
    'RateLimit-Policy, Retry-After, Server-Timing, Link, X-Request-Id, Preference-Applied, ' +
    'A2A-Extensions, X-A2A-Extensions',
} as const

/**
 * Browsers cache a preflight for at most two hours. The x402 clients for fetch and axios send
 * Access-Control-Expose-Headers, a response header, with the paid request.
 */
export const preflightHeaders = {
  'access-control-allow-headers':
    'X-PAYMENT, PAYMENT-SIGNATURE, SIGN-IN-WITH-X, If-None-Match, Prefer, Content-Type, ' +
    'MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, ' +
    'A2A-Version, A2A-Extensions, X-A2A-Extensions, Access-Control-Expose-Headers',
  'access-control-max-age': '7200',
} as const
