import { expect, test } from 'vitest'
import type { Document } from '../domain/document.ts'
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
