import Fastify from 'fastify'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { measureRequests } from './request-durations.ts'

test('counts requests by route pattern, method and status, and all unknown paths as one', async () => {
  const metrics = new Registry()
  const app = Fastify()
  measureRequests(app, metrics)
  app.get('/pulse/:coin', (_request, reply) => reply.code(402).send({}))
  for (const url of ['/pulse/BTC', '/pulse/ETH', '/secret', '/other?key=1']) await app.inject(url)
  await app.inject({ method: 'PROPFIND' as 'GET', url: '/pulse/BTC' })
  const counts = (await metrics.metrics())
    .split('\n')
    .filter((line) => line.startsWith('http_server_request_duration_seconds_count'))
  const labels = (method: string, route: string, status: number) =>
    `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"}`
  expect(counts).toEqual([
    `${labels('GET', '/pulse/:coin', 402)} 2`,
    `${labels('GET', 'unmatched', 404)} 2`,
    `${labels('_OTHER', 'unmatched', 404)} 1`,
  ])
})
