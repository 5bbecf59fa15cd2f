import { beforeEach, describe, expect, test } from 'vitest'
import { FrameTurns } from './frame-turns.ts'

const TURN_MS = 5

describe('turns of frames', () => {
  let nowMs: number
  /** What runs once everything else had its chance. */
  let later: (() => void)[]
  let done: string[]
  let held: string[]
  let turns: FrameTurns
  const sourceOf = (name: string) => ({
    hold: () => void held.push(`hold ${name}`),
    goOn: () => void held.push(`go on ${name}`),
  })
  const [one, other] = [sourceOf('one'), sourceOf('other')]

  beforeEach(() => {
    nowMs = 0
    later = []
    done = []
    held = []
    turns = new FrameTurns({ nowMs: () => nowMs, afterOthers: (task) => later.push(task) })
  })

  function offer(name: string, tookMs = 1, source = one): void {
    turns.run(() => {
      done.push(name)
      nowMs += tookMs
    }, source)
  }

  function letOthersRun(): void {
    for (const task of later.splice(0)) task()
  }

  test('what fits into one is done at once', () => {
    for (const name of ['a', 'b', 'c']) offer(name)
    expect(done).toEqual(['a', 'b', 'c'])
    letOthersRun()
    expect(later, 'and nothing is left to do').toEqual([])
  })

  test('what comes when one is over waits until others have run, and then some more', () => {
    for (const name of 'abcdefghijkl') offer(name)
    expect(done.join('')).toBe('abcde')
    letOthersRun()
    expect(done.join(''), 'others have not had their timers yet').toBe('abcde')
    letOthersRun()
    expect(done.join('')).toBe('abcdefghij')
    letOthersRun()
    expect(done.join('')).toBe('abcdefghijkl')
  })

  test('what comes while something waits does not overtake it', () => {
    offer('a', TURN_MS)
    offer('b')
    letOthersRun()
    offer('c')
    letOthersRun()
    offer('d')
    expect(done).toEqual(['a', 'b', 'c', 'd'])
  })

  test('a source is held while something waits, and goes on when nothing does any more', () => {
    for (const name of 'abcde') offer(name)
    expect(held).toEqual([])
    offer('f', 1, one)
    offer('g', 1, other)
    expect(held).toEqual(['hold one', 'hold other'])
    letOthersRun()
    expect(held).toHaveLength(2)
    letOthersRun()
    expect(held).toEqual(['hold one', 'hold other', 'go on one', 'go on other'])
    letOthersRun()
    expect(held, 'once').toHaveLength(4)
  })

  test('what another source brings meanwhile waits behind it', () => {
    offer('a', TURN_MS, one)
    offer('b', 1, one)
    offer('c', 1, other)
    letOthersRun()
    letOthersRun()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  test('a frame that throws holds up none of the others', () => {
    offer('a', TURN_MS)
    turns.run(() => {
      throw new Error('broken')
    }, one)
    offer('b')
    letOthersRun()
    expect(letOthersRun).toThrow('broken')
    letOthersRun()
    expect(done).toEqual(['a', 'b'])
    expect(held.at(-1)).toBe('go on one')
  })

  test('something longer than a turn is done once, and the next waits', () => {
    offer('a', 10 * TURN_MS)
    offer('b', 10 * TURN_MS)
    offer('c')
    letOthersRun()
    letOthersRun()
    expect(done).toEqual(['a', 'b'])
    letOthersRun()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  test('each begins anew once others have run', () => {
    for (const name of 'abcd') offer(name)
    letOthersRun()
    for (const name of 'efghi') offer(name)
    expect(done.join('')).toBe('abcdefghi')
  })
})
