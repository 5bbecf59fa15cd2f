import { expect, test } from 'vitest'
import { PerpscopeClient } from './client.ts'

const ORIGIN = 'https://api.example.com'

test.each([
  ['pulse/BTC', '/pulse/BTC'],
  ['/pulse/BTC?view=compact', '/pulse/BTC?view=compact'],
  ['.evil.example/x', '/.evil.example/x'],
  ['@evil.example/x', '/@evil.example/x'],
  ['//evil.example/x', '/evil.example/x'],
  ['/\t/evil.example/x', '/evil.example/x'],
  ['\\\\evil.example/x', '/evil.example/x'],
])('the path %j stays on the host of the service', async (path, called) => {
  for (const url of [ORIGIN, '']) {
    const client = new PerpscopeClient({
      url,
      fetch: async (target) => Response.json(new URL(target, ORIGIN).href),
    })
    expect((await client.call(path)).answer).toBe(ORIGIN + called)
  }
})
