import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'

/** The members of contract 3.5 and the headers that every response has. */
export function expectProblem(
  response: LightMyRequestResponse,
  status: number,
  code: string,
  { paymentReusable = false, charged = false as boolean | null } = {},
): void {
  expect(response.statusCode, response.body).toBe(status)
  const body = response.json()
  expect(body).toMatchObject({
    type: `/docs/errors#${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    instance: expect.stringMatching(/^\//),
    code,
    error: expect.any(String),
    retryable: expect.any(Boolean),
    charged,
    payment_reusable: paymentReusable,
    request_id: response.headers['x-request-id'],
  })
  const { headers } = response
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(headers['cache-control']).toBe('no-store')
  expect(body.retry_after).toBe(
    headers['retry-after'] === undefined ? null : Number(headers['retry-after']),
  )
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    link: expect.stringContaining('rel="service-desc"'),
  })
  expect(headers).not.toHaveProperty('etag')
}
