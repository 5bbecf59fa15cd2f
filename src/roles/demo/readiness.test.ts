import { expect, onTestFinished, test, vi } from 'vitest'
import { whenReady } from './readiness.ts'

test('another program on the port of the service is not ready', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const listings: unknown[] = [{ message: 'Not Found' }, null, { coins: ['BTC'] }]
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url) =>
    Response.json(
      String(url).endsWith('/coins') ? listings.shift() : { code: 'malformed_payment' },
    ),
  )
  const progress = { stage: vi.fn(), detail: vi.fn(), stop: vi.fn() }
  const ready = whenReady('http://127.0.0.1:1', 'BTC', progress)
  await Promise.all([ready, vi.advanceTimersByTimeAsync(1_000)])
  expect(listings).toEqual([])
})
