import { describe, expect, test } from 'vitest'
import { problem } from './problem.ts'

const request = { instance: '/pulse/BTC', requestId: 'r1' }

describe('problem', () => {
  test('says by default that nothing was charged', () => {
    const body = JSON.parse(problem('invalid_coin', { detail: 'No.' }, request).body) as object
    expect(body).toMatchObject({
      status: 400,
      code: 'invalid_coin',
      charged: false,
      retry_after: null,
    })
  })

  test('has charged: null only for an unknown outcome', () => {
    const { body } = problem('settlement_unknown', { detail: 'Wait.', charged: null }, request)
    expect(JSON.parse(body)).toHaveProperty('charged', null)
  })

  test('says when to come back in the body and in the header alike', () => {
    const { headers, body } = problem(
      'maintenance',
      { detail: 'Later.', retryAfterSeconds: 3600 },
      request,
    )
    expect(headers['retry-after']).toBe('3600')
    expect(JSON.parse(body)).toHaveProperty('retry_after', 3600)
  })

  test('is never cached', () => {
    expect(problem('data_stale', { detail: 'Old.' }, request).headers['cache-control']).toBe(
      'no-store',
    )
  })
})
