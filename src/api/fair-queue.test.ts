import { describe, expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

/** A queue whose turns the test takes. */
function queue(perCallerMax = 8) {
  const turns: (() => void)[] = []
  const fair = new FairQueue(perCallerMax, (task) => turns.push(task))
  const started: string[] = []
  const enter = (caller: string, name = caller) => fair.enter(caller, () => started.push(name))
  const turn = () => turns.shift()?.()
  return { enter, turn, started, turns }
}

describe('a fair queue', () => {
  test('starts the first task immediately and then one per turn', () => {
    const { enter, turn, started, turns } = queue()
    for (const name of ['a1', 'a2', 'a3']) enter('a', name)
    expect(started).toEqual(['a1'])
    turn()
    expect(started).toEqual(['a1', 'a2'])
    turn()
    turn()
    expect(started).toEqual(['a1', 'a2', 'a3'])
    expect(turns, 'and nothing goes on while nobody waits').toEqual([])
    enter('a', 'a4')
    expect(started.at(-1)).toBe('a4')
  })

  test('goes on after a task that throws', () => {
    const turns: (() => void)[] = []
    const fair = new FairQueue(8, (task) => turns.push(task))
    const started: string[] = []
    expect(() =>
      fair.enter('a', () => {
        throw new Error('planted')
      }),
    ).toThrow('planted')
    fair.enter('b', () => started.push('b'))
    while (turns.length > 0) turns.shift()?.()
    expect(started).toEqual(['b'])
  })

  test('serves the callers in rotation', () => {
    const { enter, turn, started } = queue()
    for (const name of ['a1', 'a2', 'a3', 'a4']) enter('a', name)
    enter('b')
    enter('c')
    for (let count = 0; count < 6; count += 1) turn()
    expect(started).toEqual(['a1', 'a2', 'b', 'c', 'a3', 'a4'])
  })

  test('limits open tasks per caller', () => {
    const { enter, turn } = queue(2)
    const leave = enter('a')
    expect(enter('a')).not.toBeNull()
    expect(enter('a')).toBeNull()
    turn()
    turn()
    expect(enter('a'), 'both are at work').toBeNull()
    expect(enter('b')).not.toBeNull()
    leave?.()
    expect(enter('a')).not.toBeNull()
  })

  test('does not start tasks of callers that left', () => {
    const { enter, turn, started } = queue()
    enter('a', 'a1')
    const leave = enter('a', 'a2')
    enter('a', 'a3')
    leave?.()
    turn()
    turn()
    expect(started).toEqual(['a1', 'a3'])
  })

  test('keeps no state of callers that left', () => {
    const { enter, turn } = queue(1)
    for (let count = 0; count < 3; count += 1) {
      const leave = enter('a')
      expect(leave).not.toBeNull()
      turn()
      leave?.()
    }
  })
})
