import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { NodePermit } from './node-budget.ts'
import { NodeBudget } from './node-budget.ts'

const HERE = '10.0.0.1'

function admission(failuresPerAddressPerMinute: number, failuresPerSecond = 1_000) {
  const clock = new ManualClock()
  const limits = { failuresPerAddressPerMinute, failuresPerSecond }
  return { clock, admission: new NodeBudget({ clock, ...limits }) }
}

/** What became of each so far: 'waits' where nothing did. */
async function states(results: readonly Promise<unknown>[]): Promise<unknown[]> {
  const found: unknown[] = results.map(() => 'waits')
  for (const [index, result] of results.entries()) {
    void result.then((value) => {
      found[index] = value
    })
  }
  await new Promise((resolve) => setImmediate(resolve))
  return found
}

function failed(permit: NodePermit): void {
  permit.fail()
  permit.end()
}

describe('an address', () => {
  test('is bounded when its payments begin, so that many concurrent ones ask no more than a few', async () => {
    const { admission: nodes } = admission(3)
    const visits = Array.from({ length: 10 }, () => nodes.open(HERE))
    const places = visits.map((permit) => permit.reserve())
    expect((await states(places)).filter((state) => state === null)).toHaveLength(3)
    for (const permit of visits.slice(0, 3)) failed(permit)
    const ended = await Promise.all(places)
    expect(ended.slice(3)).toEqual(
      Array.from({ length: 7 }, () => expect.objectContaining({ of: 'unverified' })),
    )
  })

  test('gets a place back once, however often a payment is ended', async () => {
    const { admission: nodes } = admission(1)
    const [first, second] = [nodes.open(HERE), nodes.open(HERE)]
    await first.reserve()
    first.end()
    await second.reserve()
    first.end()
    expect(await states([nodes.open(HERE).reserve()])).toEqual(['waits'])
  })

  test('gets a place back some seconds after a missing reply, and does not delay others', async () => {
    const { admission: nodes, clock } = admission(1)
    const [asked, waiting] = [nodes.open(HERE), nodes.open(HERE)]
    await asked.reserve()
    const place = waiting.reserve()
    asked.unanswered()
    asked.end()
    expect(await place).toMatchObject({ of: 'unverified', allowance: { resetSeconds: 10 } })
    clock.advance(9_999)
    expect(await nodes.open(HERE).reserve()).toMatchObject({ of: 'unverified' })
    clock.advance(1)
    expect(await nodes.open(HERE).reserve()).toBeNull()
  })

  test('gets its places back for payments that were valid or could not be verified', async () => {
    const { admission: nodes } = admission(2)
    for (let payment = 0; payment < 20; payment += 1) {
      const permit = nodes.open(HERE)
      expect(await permit.reserve()).toBeNull()
      permit.end()
    }
  })

  test('serves those that wait in the order in which they came', async () => {
    const { admission: nodes } = admission(1)
    const visits = [1, 2, 3].map(() => nodes.open(HERE))
    const places = visits.map((permit) => permit.reserve())
    expect(await states(places)).toEqual([null, 'waits', 'waits'])
    visits[0]?.end()
    expect(await states(places)).toEqual([null, null, 'waits'])
  })

  test('does not use up the places of another, and is free again after a minute', async () => {
    const { clock, admission: nodes } = admission(1)
    const permit = nodes.open(HERE)
    await permit.reserve()
    failed(permit)
    clock.advance(20_000)
    expect(await nodes.open(HERE).reserve()).toMatchObject({
      of: 'unverified',
      allowance: { allowed: false, resetSeconds: 40 },
    })
    expect(await nodes.open('10.0.0.2').reserve()).toBeNull()
    clock.advance(40_000)
    expect(await nodes.open(HERE).reserve()).toBeNull()
  })

  test('is not barred for longer by a clock that is put back', async () => {
    const { clock, admission: nodes } = admission(1)
    const permit = nodes.open(HERE)
    await permit.reserve()
    failed(permit)
    clock.putBack(3_600_000)
    expect(await nodes.open(HERE).reserve()).toMatchObject({ allowance: { resetSeconds: 60 } })
    clock.advance(60_000)
    expect(await nodes.open(HERE).reserve()).toBeNull()
  })

  test('receives a retry time if its turn does not come', async () => {
    const { clock, admission: nodes } = admission(1)
    await nodes.open(HERE).reserve()
    const waiting = nodes.open(HERE).reserve()
    clock.advance(5_000)
    expect(await waiting).toEqual({ of: 'crowd' })
  })

  test('has a bounded number waiting', async () => {
    const { admission: nodes } = admission(1)
    const places = Array.from({ length: 502 }, () => nodes.open(HERE).reserve())
    expect((await states(places)).slice(-2)).toEqual(['waits', { of: 'crowd' }])
  })
})

describe('all addresses together', () => {
  /** How many are started within so many seconds when all fail. */
  async function startedWithin(seconds: number, payer: 'known' | 'new') {
    const { clock, admission: nodes } = admission(1, 10)
    let started = 0
    for (let tenths = 0; tenths <= seconds * 10; tenths += 1) {
      const visits = Array.from({ length: 10 }, (_, at) => nodes.open(`10.0.${tenths}.${at}`))
      const starts = visits.map(async (permit) => {
        if ((await permit.start(payer)) !== null) return
        started += 1
        failed(permit)
      })
      await states(starts)
      clock.advance(100)
      await states(starts)
    }
    return started
  }

  test.each(['known', 'new'] as const)(
    'ask for failing payments of %s payers at a rate',
    async (payer) => {
      expect(await startedWithin(3, payer)).toBeLessThanOrEqual(20 + 31)
      expect(await startedWithin(3, payer)).toBeGreaterThan(40)
    },
  )

  test('let known payers pass while new ones have used up theirs', async () => {
    const { admission: nodes } = admission(1_000, 5)
    const starts = Array.from({ length: 20 }, () => nodes.open(HERE).start('new'))
    expect((await states(starts)).at(-1)).toBe('waits')
    expect(await nodes.open(HERE).start('known')).toBeNull()
  })

  test('are not bounded by payments that are right', async () => {
    const { admission: nodes } = admission(1_000, 1)
    for (let payment = 0; payment < 50; payment += 1) {
      const permit = nodes.open(HERE)
      expect(await permit.start('new')).toBeNull()
      permit.end()
    }
  })
})
