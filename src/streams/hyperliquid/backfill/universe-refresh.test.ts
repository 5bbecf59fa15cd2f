import { beforeEach, describe, expect, test } from 'vitest'
import { UniverseRefresh } from './universe-refresh.ts'

describe('when a universe is fetched again', () => {
  let refresh: UniverseRefresh

  beforeEach(() => {
    refresh = new UniverseRefresh('')
    refresh.answered('', true, 0)
    refresh.answered('xyz', true, 0)
  })

  /** Instants in whole seconds at which a dex is due while every fetch ends so. */
  const fetched = (untilMs: number, conclude: (dex: string, nowMs: number) => void): string[] => {
    const asked: string[] = []
    for (let nowMs = 0; nowMs <= untilMs; nowMs += 1_000) {
      const dex = refresh.due(nowMs)
      if (dex === undefined) continue
      asked.push(`${dex}@${nowMs / 1_000}`)
      conclude(dex, nowMs)
    }
    return asked
  }

  test('the main one every minute, another every five', () => {
    const asked = fetched(300_000, (dex, nowMs) => refresh.answered(dex, false, nowMs))
    expect(asked).toEqual(['@60', '@120', '@180', '@240', '@300'])
    expect(refresh.due(300_000)).toBe('xyz')
  })

  test('one that is demanded after five seconds', () => {
    refresh.demand()
    expect(refresh.due(4_999)).toBeUndefined()
    expect(refresh.due(5_000)).toBe('')
  })

  test('ever more rarely while what is demanded brings nothing new', () => {
    refresh.demand()
    const asked = fetched(200_000, (dex, nowMs) => {
      refresh.answered(dex, false, nowMs)
      refresh.demand()
    })
    expect(asked.filter((one) => one.startsWith('@'))).toEqual([
      '@5',
      '@15',
      '@35',
      '@75',
      '@135',
      '@195',
    ])
  })

  test('soon again after one that was new', () => {
    refresh.demand()
    refresh.answered('', true, 5_000)
    refresh.demand()
    expect(refresh.due(10_000)).toBe('')
  })

  test('one that fails is asked ever more rarely, counted from the failure, and the others as ever', () => {
    const asked = fetched(120_000, (dex, nowMs) => {
      if (dex === 'xyz') refresh.failed(dex, nowMs)
      else refresh.answered(dex, false, nowMs)
    })
    expect(asked).toEqual(['@60', '@120'])
    refresh.failed('xyz', 130_000)
    expect(refresh.due(139_999)).toBeUndefined()
    expect(refresh.due(140_000)).toBe('xyz')
  })

  test('one whose list is undecided every five seconds, and more and more rarely where it stays so', () => {
    refresh.undecided('', 60_000)
    const asked: number[] = []
    for (let nowMs = 60_000; nowMs <= 300_000; nowMs += 1_000) {
      if (refresh.due(nowMs) !== '') continue
      asked.push(nowMs / 1_000)
      refresh.undecided('', nowMs)
    }
    expect(asked).toEqual([65, 70, 75, 80, 90, 110, 150, 210, 270])
  })

  test('the one that is demanded, where it is known which', () => {
    refresh.demand('xyz')
    expect(refresh.due(5_000)).toBe('xyz')
  })

  test('one that was never asked is not asked for being undecided: the feed begins with it', () => {
    refresh.undecided('new', 0)
    refresh.answered('', true, 500_000)
    refresh.answered('xyz', true, 500_000)
    expect(refresh.due(510_000)).toBeUndefined()
  })
})
