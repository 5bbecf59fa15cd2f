import { describe, expect, test } from 'vitest'
import { callerKey, localRateLimits } from './rate-limit.ts'

describe('a rate limit', () => {
  test('counts by key, and says where one stands', async () => {
    const limit = localRateLimits('ip', 2)
    expect(await limit.peek('a')).toEqual({ allowed: true, remaining: 2, resetSeconds: 60 })
    expect(await limit.take('a')).toMatchObject({ allowed: true, remaining: 1 })
    expect(await limit.take('a')).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limit.peek('a')).toMatchObject({ allowed: false })
    expect(await limit.take('a')).toMatchObject({ allowed: false, remaining: 0 })
    expect(await limit.take('b')).toMatchObject({ allowed: true })
  })

  test('takes back a call that does not count, and never more than were counted', async () => {
    const limit = localRateLimits('ip', 2)
    await limit.giveBack('a')
    await limit.take('a')
    await limit.take('a')
    await limit.giveBack('a')
    expect(await limit.take('a')).toMatchObject({ allowed: true, remaining: 0 })
    for (const _ of [1, 2, 3, 4]) await limit.giveBack('a')
    expect(await limit.peek('a')).toMatchObject({ remaining: 2 })
  })

  test('shows itself as structured fields', () => {
    const limit = localRateLimits('ip', 60)
    expect(limit.headers({ allowed: true, remaining: 57, resetSeconds: 12 })).toEqual({
      'ratelimit-policy': '"ip";q=60;w=60',
      ratelimit: '"ip";r=57;t=12',
    })
  })
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('%s is counted as %s', (ip, key) => {
  expect(callerKey(ip)).toBe(key)
})
