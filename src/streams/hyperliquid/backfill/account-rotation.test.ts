import { describe, expect, test } from 'vitest'
import { AccountRotation, ROUND_MS } from './account-rotation.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const traders = (count: number) => crowd.slice(0, count)
const crowd = Array.from({ length: 2_000 }, (_, index) => `t${index}`)

describe('which account is asked next', () => {
  test('the largest traders first, one every two seconds of 60 weight a minute', () => {
    const run = play(60, { held: () => 1e6 })
    run.advance(MINUTE_MS)
    expect(run.asked).toHaveLength(30)
    expect(run.asked.slice(0, 3).map(({ account }) => account)).toEqual(['t0', 't1', 't2'])
  })

  test('three hundred accounts are requested in ten minutes, and then again', () => {
    const run = play(60, { held: () => 1e6 })
    run.advance(ROUND_MS)
    const round = new Set(run.asked.map(({ account }) => account))
    expect(round.size).toBe(300)
    run.advance(ROUND_MS)
    const second = run.asked.slice(300).map(({ account }) => account)
    expect(new Set(second).size).toBe(second.length)
    expect(second.filter((account) => round.has(account)).length).toBeGreaterThan(280)
  })

  test('no account is asked twice within a round, however much may be spent', () => {
    const run = play(6_000, { held: () => 1e6 })
    run.advance(ROUND_MS - 1)
    expect(new Set(run.asked.map(({ account }) => account)).size).toBe(run.asked.length)
    expect(run.asked.length, 'and what is remembered is bounded').toBeLessThanOrEqual(400)
  })

  test('nothing is asked without weight', () => {
    const run = play(0, { held: () => 1e6 })
    run.advance(HOUR_MS)
    expect(run.asked).toEqual([])
  })

  test('an account that turns out empty gives its place to the next, for an hour', () => {
    const run = play(60, { held: (account) => (account === 't0' ? 0 : 1e6) })
    run.advance(HOUR_MS - 1)
    expect(run.timesOf('t0')).toHaveLength(1)
    expect(run.timesOf('t1').length).toBeGreaterThan(4)
    run.advance(ROUND_MS)
    expect(run.timesOf('t0')).toHaveLength(2)
  })

  test('who holds much is asked for on, though it trades no more', () => {
    const rotation = new AccountRotation(60, START_MS)
    expect(rotation.next(() => ['whale'], START_MS)).toBe('whale')
    rotation.answered('whale', 1e9, START_MS)
    const asked: (string | undefined)[] = []
    for (let atMs = START_MS + 2_000; atMs <= START_MS + ROUND_MS + 4_000; atMs += 2_000) {
      const account = rotation.next(traders, atMs)
      asked.push(account)
      if (account !== undefined) rotation.answered(account, 1_000, atMs)
    }
    expect(asked.slice(-3)).toContain('whale')
  })

  test('a third of a round is left to traders of whom nothing is known', () => {
    const run = play(60, { held: (account) => (account.startsWith('new') ? 1e3 : 1e6) })
    run.advance(ROUND_MS)
    const known = run.asked.length
    run.traders = Array.from({ length: 2_000 }, (_, index) => `new${index}`)
    run.advance(ROUND_MS)
    const news = run.asked.slice(known).filter(({ account }) => account.startsWith('new'))
    expect(news.length).toBeGreaterThanOrEqual(100)
    expect(news.length, 'the other two thirds go on with those that hold').toBeLessThanOrEqual(110)
  })

  test('a venue that does not answer is asked more and more rarely, and at the usual pace again after', () => {
    const rotation = new AccountRotation(60, START_MS)
    let nowMs = START_MS
    const waits: number[] = []
    for (let failure = 0; failure < 9; failure += 1) {
      const fromMs = nowMs
      let account: string | undefined
      while (account === undefined) {
        account = rotation.next(traders, nowMs)
        if (account === undefined) nowMs += 100
      }
      waits.push(nowMs - fromMs)
      rotation.failed(nowMs, 0.999)
    }
    expect(waits.slice(1)).toEqual(waits.slice(1).toSorted((one, other) => one - other))
    expect(waits.at(-1)).toBeGreaterThan(200_000)
    expect(waits.at(-1)).toBeLessThanOrEqual(300_000)
    nowMs += 300_000
    const account = rotation.next(traders, nowMs)
    rotation.answered(account ?? '', 1e6, nowMs)
    expect(rotation.next(traders, nowMs + 2_000)).toBeDefined()
  })

  test('an account that failed waits for its next round', () => {
    const rotation = new AccountRotation(60, START_MS)
    expect(rotation.next(() => ['only'], START_MS)).toBe('only')
    rotation.failed(START_MS, 0)
    expect(rotation.next(() => ['only'], START_MS + ROUND_MS - 1)).toBeUndefined()
    expect(rotation.next(() => ['only'], START_MS + ROUND_MS + 2_000)).toBe('only')
  })
})

/** A venue that answers at once, asked every 100 ms. */
function play(weightPerMinute: number, { held }: { held: (account: string) => number }) {
  const rotation = new AccountRotation(weightPerMinute, START_MS)
  const asked: { readonly account: string; readonly atMs: number }[] = []
  let nowMs = START_MS
  const run = {
    asked,
    traders: crowd as readonly string[],
    timesOf: (account: string) => asked.filter((one) => one.account === account),
    advance(ms: number) {
      const untilMs = nowMs + ms
      for (; nowMs < untilMs; nowMs += 100) {
        const account = rotation.next((count) => run.traders.slice(0, count), nowMs)
        if (account === undefined) continue
        asked.push({ account, atMs: nowMs })
        rotation.answered(account, held(account), nowMs)
      }
    },
  }
  return run
}
