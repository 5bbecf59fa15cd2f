import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a page that stays open shows the facts of a service that was started again', async () => {
  // Before the import, which starts the clock of the page.
  vi.useFakeTimers()
  const { facts, loadFacts } = await import('./service.ts')
  let now: object = { coins: [], offers: [{ id: 'pulse', priceUsdc: '0.02' }] }
  vi.stubGlobal('fetch', async () => Response.json(now))
  await loadFacts()
  const before = facts()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(facts(), 'the same are not drawn again').toBe(before)
  now = { coins: ['BTC', 'ETH'], offers: [{ id: 'pulse', priceUsdc: '0.03' }] }
  await vi.advanceTimersByTimeAsync(60_000)
  expect(facts()).toEqual(now)
})
