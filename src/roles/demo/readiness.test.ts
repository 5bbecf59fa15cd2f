import { expect, onTestFinished, test, vi } from 'vitest'
import { contracts } from '../../compute/analyses/registry.ts'
import { pathOf } from '../../domain/contract.ts'
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

test('only the analyses asked for are called, and none before the coin is listed', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const listings = [{ coins: [] }, { coins: ['BTC'] }]
  const called: string[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
    const { pathname } = new URL(String(url))
    if (pathname === '/coins') return Response.json(listings.shift())
    called.push(pathname)
    return Response.json({ code: 'malformed_payment' })
  })
  const progress = { stage: vi.fn(), detail: vi.fn(), stop: vi.fn() }
  const asked = contracts.slice(1, 2)
  const ready = whenReady('http://127.0.0.1:1', 'BTC', progress, asked)
  await Promise.all([ready, vi.advanceTimersByTimeAsync(1_000)])
  expect(called).toEqual(asked.map((contract) => pathOf(contract, 'BTC')))
})

test('the end of the wait names each analysis, and what the service says about it', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url) =>
    Response.json(
      String(url).endsWith('/coins')
        ? { coins: ['BTC'] }
        : { code: 'warming_up', detail: 'Available exchanges: 1; required: 2.' },
    ),
  )
  const progress = { stage: vi.fn(), detail: vi.fn(), stop: vi.fn() }
  const ready = whenReady('http://127.0.0.1:1', 'BTC', progress, contracts.slice(1, 3))
  const ids = contracts.slice(1, 3).map(({ id }) => id)
  await Promise.all([
    expect(ready).rejects.toThrow(
      `no answer of ${ids.join(', ')} within 300 s: Available exchanges: 1; required: 2.`,
    ),
    vi.advanceTimersByTimeAsync(301_000),
  ])
})
