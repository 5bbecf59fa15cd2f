import { expect, test } from 'vitest'
import type { Document } from '../domain/document.ts'
import type { StoredClaim } from '../domain/track-record.ts'
import { gatewayFixture } from './testing/gateway-fixture.ts'
import { layOut } from './testing/pulse-like.ts'

const record = (version: number): Document => ({
  key: 'track-record/*',
  version,
  renderedAtMs: 0,
  ...layOut([`{"all":${version}}`, `{"zone":${version}}`]),
  views: Object.fromEntries(
    ['all', 'zone', 'graveyard'].map((view, at) => [
      view,
      {
        kind: 'answer',
        parts: [Math.min(at, 1)],
        ...{ inputs: [], coveragePct: 100, warnings: [] },
      },
    ]),
  ),
})

test('the record of every rule, of a family, and of dead rules is free', async () => {
  const { app, deliver } = gatewayFixture()
  const before = await app.inject('/track-record')
  expect(before.statusCode).toBe(503)
  expect(before.json()).toMatchObject({ code: 'data_stale' })
  deliver({ kind: 'documents', documents: [record(1)] })
  expect((await app.inject('/track-record')).json()).toEqual({ all: 1 })
  expect((await app.inject('/track-record/zone')).json()).toEqual({ zone: 1 })
  expect((await app.inject('/track-record/graveyard')).statusCode).toBe(200)
  deliver({ kind: 'documents', documents: [record(2)] })
  const newest = await app.inject('/track-record')
  expect(newest.json()).toEqual({ all: 2 })
  const etag = String(newest.headers.etag)
  const same = await app.inject({ url: '/track-record', headers: { 'if-none-match': etag } })
  expect(same.statusCode).toBe(304)
})

test('an unknown family is refused with the known ones', async () => {
  const { app } = gatewayFixture()
  const refused = await app.inject('/track-record/zones')
  expect(refused.statusCode).toBe(404)
  expect(refused.json()).toMatchObject({ code: 'not_found', did_you_mean: ['zone'] })
  expect((await app.inject('/track-record?day=1')).statusCode).toBe(400)
})

test('every claim of a day is readable, a thousand a page', async () => {
  const claim = (sequence: number): StoredClaim => ({
    ...{ rule: 'zone.touch@1', coin: 'BTC', coinClass: 'majors', madeAtMs: 0, horizonMs: 1 },
    ...{ statement: { form: 'event', probability: 0.5, control: null }, reference: [] },
    ...{ resolvedAtMs: 2, outcome: { kind: 'void', reason: 'gap' }, sequence },
  })
  const all = Array.from({ length: 1_500 }, (_, at) => claim(at))
  const asked: string[] = []
  const { app } = gatewayFixture({
    claimsOf: (family, dayMs) => {
      asked.push(`${family} ${dayMs}`)
      return all
    },
  })
  const first = await app.inject('/track-record/zone/claims?day=2026-01-31')
  expect(first.json()).toMatchObject({ family: 'zone', day: '2026-01-31', total: 1_500 })
  expect(first.json().claims).toEqual(all.slice(0, 1_000))
  const { next_after } = first.json()
  const second = await app.inject(`/track-record/zone/claims?day=2026-01-31&after=${next_after}`)
  expect(second.json().claims).toEqual(all.slice(1_000))
  expect(second.json().next_after).toBeNull()
  expect(asked, 'the second page is of the same reading').toEqual([`zone ${Date.UTC(2026, 0, 31)}`])
})

test.each([
  ['zone/claims', 400, 'invalid_parameter'],
  ['zone/claims?day=yesterday', 400, 'invalid_parameter'],
  ['zone/claims?day=2026-02-30', 400, 'invalid_parameter'],
  ['zone/claims?day=2026-01-31&after=x', 400, 'invalid_parameter'],
  ['zone/claims?day=2026-01-31&page=2', 400, 'unknown_parameter'],
  ['zones/claims?day=2026-01-31', 404, 'not_found'],
  ['graveyard/claims?day=2026-01-31', 404, 'not_found'],
  ['zone/claims?day=2026-01-31', 404, 'not_found'],
])('%s is refused', async (path, status, code) => {
  const { app } = gatewayFixture()
  const refused = await app.inject(`/track-record/${path}`)
  expect(refused.statusCode).toBe(status)
  expect(refused.json()).toMatchObject({ code })
})

test('a cache keeps a page apart for callers with an origin', async () => {
  const { app } = gatewayFixture({ claimsOf: () => [] })
  const page = await app.inject('/track-record/zone/claims?day=2026-01-31')
  expect(page.headers).toMatchObject({ 'cache-control': 'public, max-age=60', vary: 'Origin' })
})

test('days that are read in turn are read from disk once a minute', async () => {
  let reads = 0
  const claimsOf = () => {
    reads += 1
    return []
  }
  const { app } = gatewayFixture({ claimsOf })
  for (const day of ['2026-01-30', '2026-01-31', '2026-01-30', '2026-01-31'])
    await app.inject(`/track-record/zone/claims?day=${day}`)
  expect(reads).toBe(2)
})

test('a caller reads sixty pages a minute', async () => {
  const { app } = gatewayFixture({ claimsOf: () => [] })
  for (let page = 0; page < 60; page += 1)
    await app.inject('/track-record/zone/claims?day=2026-01-31')
  const refused = await app.inject('/track-record/zone/claims?day=2026-01-31')
  expect(refused.statusCode).toBe(429)
  expect(refused.headers['retry-after']).toBeDefined()
})
