import { beforeEach, describe, expect, test } from 'vitest'
import { FrameSlices } from './frame-slices.ts'

const SLICE_MS = 5

describe('FrameSlices', () => {
  let nowMs: number
  /** Tasks that run after all other due tasks. */
  let later: (() => void)[]
  let done: string[]
  let calls: string[]
  let slices: FrameSlices
  const socketOf = (name: string) => ({
    pause: () => void calls.push(`pause ${name}`),
    resume: () => void calls.push(`resume ${name}`),
  })
  const [one, other] = [socketOf('one'), socketOf('other')]

  beforeEach(() => {
    nowMs = 0
    later = []
    done = []
    calls = []
    slices = new FrameSlices({ nowMs: () => nowMs, afterOthers: (task) => later.push(task) })
  })

  function receive(name: string, tookMs = 1, socket = one): void {
    slices.run(() => {
      done.push(name)
      nowMs += tookMs
    }, socket)
  }

  function runLater(): void {
    for (const task of later.splice(0)) task()
  }

  test('processes frames within one slice immediately', () => {
    for (const name of ['a', 'b', 'c']) receive(name)
    expect(done).toEqual(['a', 'b', 'c'])
    runLater()
    expect(later, 'no task remains').toEqual([])
  })

  test('defers frames beyond the slice until other tasks have run', () => {
    for (const name of 'abcdefghijkl') receive(name)
    expect(done.join('')).toBe('abcde')
    runLater()
    expect(done.join(''), 'timers have not run yet').toBe('abcde')
    runLater()
    expect(done.join('')).toBe('abcdefghij')
    runLater()
    expect(done.join('')).toBe('abcdefghijkl')
  })

  test('keeps the order of frames', () => {
    receive('a', SLICE_MS)
    receive('b')
    runLater()
    receive('c')
    runLater()
    receive('d')
    expect(done).toEqual(['a', 'b', 'c', 'd'])
  })

  test('pauses a socket while one of its frames waits, and resumes it afterwards', () => {
    for (const name of 'abcde') receive(name)
    expect(calls).toEqual([])
    receive('f', 1, one)
    receive('g', 1, other)
    expect(calls).toEqual(['pause one', 'pause other'])
    runLater()
    expect(calls).toHaveLength(2)
    runLater()
    expect(calls).toEqual(['pause one', 'pause other', 'resume one', 'resume other'])
    runLater()
    expect(calls, 'resumed once').toHaveLength(4)
  })

  test('keeps the order across sockets', () => {
    receive('a', SLICE_MS, one)
    receive('b', 1, one)
    receive('c', 1, other)
    runLater()
    runLater()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  test('processes the other frames when one throws', () => {
    receive('a', SLICE_MS)
    slices.run(() => {
      throw new Error('broken')
    }, one)
    receive('b')
    runLater()
    expect(runLater).toThrow('broken')
    runLater()
    expect(done).toEqual(['a', 'b'])
    expect(calls.at(-1)).toBe('resume one')
  })

  test('processes one frame that exceeds the slice, and defers the next', () => {
    receive('a', 10 * SLICE_MS)
    receive('b', 10 * SLICE_MS)
    receive('c')
    runLater()
    runLater()
    expect(done).toEqual(['a', 'b'])
    runLater()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  test('starts a new slice after other tasks have run', () => {
    for (const name of 'abcd') receive(name)
    runLater()
    for (const name of 'efghi') receive(name)
    expect(done.join('')).toBe('abcdefghi')
  })
})
