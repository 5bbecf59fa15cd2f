import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { adminFixture } from '../testing/admin-fixture.ts'
import { RequestStatistics } from './request-statistics.ts'

const MINUTE_MS = 60_000

test('requests are counted by route and status, with quantiles within 20 %', () => {
  const clock = new ManualClock()
  const statistics = new RequestStatistics(clock)
  clock.advance(MINUTE_MS)
  for (let count = 1; count <= 200; count += 1) statistics.add('/pulse/:coin', 200, count)
  statistics.add('/pulse/:coin', 503, 1)
  statistics.add('/health', 200, 0)
  const { windowMs, routes } = statistics.figures()
  expect(windowMs).toBe(MINUTE_MS)
  expect(routes.map(({ route }) => route)).toEqual(['/pulse/:coin', '/health'])
  const [pulse, health] = routes
  expect(pulse).toMatchObject({ requests: 201, statuses: { 200: 200, 503: 1 } })
  expect(pulse?.p50Ms).toBeGreaterThanOrEqual(100)
  expect(pulse?.p50Ms).toBeLessThan(120)
  expect(pulse?.p99Ms).toBeGreaterThanOrEqual(198)
  expect(pulse?.p99Ms).toBeLessThan(238)
  expect(health).toMatchObject({ requests: 1, p50Ms: 0.1, p99Ms: 0.1 })
})

test('requests leave the window after five minutes, and stay in the total', () => {
  const clock = new ManualClock()
  const statistics = new RequestStatistics(clock)
  statistics.add('/health', 200, 1)
  clock.advance(3 * MINUTE_MS)
  statistics.add('/health', 404, 1)
  clock.advance(2 * MINUTE_MS)
  expect(statistics.figures()).toMatchObject({
    windowMs: 5 * MINUTE_MS,
    routes: [{ requests: 1, statuses: { 404: 1 } }],
  })
  clock.advance(5 * MINUTE_MS)
  expect(statistics.figures().routes).toEqual([])
  statistics.add('/health', 200, 1)
  expect(statistics.figures().routes).toMatchObject([{ requests: 1, statuses: { 200: 1 } }])
  expect(statistics.totalOf('/health')).toBe(3)
})

test('routes beyond the bound are counted together', () => {
  const statistics = new RequestStatistics(new ManualClock())
  for (let count = 0; count < 200; count += 1) statistics.add(`/${count}`, 200, 1)
  const { routes } = statistics.figures()
  expect(routes).toHaveLength(129)
  expect(routes[0]).toMatchObject({ route: 'other', requests: 72 })
})

test('every response of a server is counted, of unknown paths too', async () => {
  const { app, admin } = adminFixture()
  await app.inject('/pulse/BTC')
  await app.inject('/pulse/NOCOIN')
  await app.inject('/nothing')
  const { requests } = (await admin.inject('/desk/health')).json()
  expect(requests.routes).toMatchObject([
    { route: '/pulse/:coin', requests: 2, statuses: { 200: 1, 400: 1 } },
    { route: 'other', requests: 1, statuses: { 404: 1 } },
  ])
})
