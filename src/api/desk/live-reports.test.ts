import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { adminFixture } from '../testing/admin-fixture.ts'
import type { DeskReports } from './desk-reports.ts'
import { liveReports } from './live-reports.ts'

function following(health: () => Promise<unknown>) {
  const clock = new ManualClock()
  const { desk } = adminFixture()
  const reports = { ...desk.reports, health } as DeskReports
  const document = liveReports(reports, clock).open('/desk/health')
  if (document.kind !== 'document') throw new Error('it is a document')
  const settled = async () => {
    document.newest()
    await new Promise((resolve) => setImmediate(resolve))
    return document.newest()
  }
  return { clock, settled }
}

test('a report is composed once per period while it is followed, and not before', async () => {
  let count = 0
  const { clock, settled } = following(async () => {
    count += 1
    return { count }
  })
  clock.advance(60_000)
  expect(count).toBe(0)
  const first = await settled()
  expect(first).toMatchObject({ atMs: clock.nowMs(), body: { answer: '{"count":1}' } })
  clock.advance(500)
  expect(await settled()).toBe(first)
  clock.advance(500)
  const second = await settled()
  expect(second?.body).toEqual({ answer: '{"count":2}' })
  expect(second?.version).not.toBe(first?.version)
})

test('a report that fails is refused with the reason, until it succeeds', async () => {
  let isFailing = true
  const { clock, settled } = following(async () => {
    if (isFailing) throw new Error('the ledger is away')
    return {}
  })
  const refused = await settled()
  expect(JSON.stringify(refused?.body)).toContain('the ledger is away')
  isFailing = false
  clock.advance(1_000)
  expect((await settled())?.body).toEqual({ answer: '{}' })
})

test('other names are refused', () => {
  const { desk, clock } = adminFixture()
  expect(liveReports(desk.reports, clock).open('/desk/keys')).toMatchObject({ code: 'not_found' })
})
