import { expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import { HttpStatusError } from '../http-exchange.ts'
import { failureDetail } from './retry.ts'

const url = 'wss://user:secret@feed.example/secret?key=secret'

test.each([
  [new OperatingError('socket_failed', 'feed.example: refused'), 'feed.example: refused'],
  [new OperatingError('request_timeout', 'no reply within 5 s'), 'feed.example: no reply within'],
  [new HttpStatusError(403, url), 'feed.example: HTTP 403'],
  [new Error(`feed.example: ${'x'.repeat(5_000)}`), 'feed.example: xxx'],
])('a failure is reported with its host once, short, and without a key: %s', (cause, start) => {
  const detail = failureDetail(url, cause, 2, 3_000)
  expect(detail.startsWith(start)).toBe(true)
  expect(detail.endsWith('; attempt 3 in 3 s')).toBe(true)
  expect(detail.length).toBeLessThan(300)
  expect(detail).not.toContain('secret')
})
