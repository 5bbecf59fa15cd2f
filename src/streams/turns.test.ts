import { beforeEach, describe, expect, test } from 'vitest'
import { Turns } from './turns.ts'

const TURN_MS = 5

describe('turns of a thread', () => {
  let nowMs: number
  /** What runs once everything else had its chance. */
  let later: (() => void)[]
  let done: string[]
  let resumed: number
  let turns: Turns
  const source = { resume: () => (resumed += 1) }

  beforeEach(() => {
    nowMs = 0
    later = []
    done = []
    resumed = 0
    turns = new Turns({ nowMs: () => nowMs, afterOthers: (task) => later.push(task) })
  })

  /** What arrives: done at once where there is time. */
  function offer(name: string, tookMs = 1): void {
    const task = () => {
      done.push(name)
      nowMs += tookMs
    }
    if (turns.hasTime()) task()
    else turns.wait(task, source)
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

  test('a source goes on when nothing waits any more, not before', () => {
    for (const name of 'abcdefghijkl') offer(name)
    letOthersRun()
    letOthersRun()
    expect(resumed).toBe(0)
    letOthersRun()
    expect(resumed).toBe(1)
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
