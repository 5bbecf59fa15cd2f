import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a page that was opened before any coin had answers learns of them, and keeps the other facts', async () => {
  // Before the import, which starts the clock of the page.
  vi.useFakeTimers()
  const { facts, loadFacts } = await import('./service.ts')
  let coins: string[] = []
  vi.stubGlobal('fetch', async () => Response.json({ coins, version: `with ${coins.length}` }))
  await loadFacts()
  coins = ['BTC', 'ETH']
  await vi.advanceTimersByTimeAsync(60_000)
  expect(facts()).toEqual({ coins, version: 'with 0' })
})
