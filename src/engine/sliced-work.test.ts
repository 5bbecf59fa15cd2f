import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { SlicedWork } from './sliced-work.ts'

const GAP_MS = 20

describe('work in slices', () => {
  test('does one slice at a time, with a gap between', () => {
    const { work, done, clock } = sliced()
    work.run()
    expect(done).toEqual(['1a'])
    clock.advance(GAP_MS)
    expect(done).toEqual(['1a', '1b'])
  })

  test('is not started again while it is in progress', () => {
    const { work, done, clock } = sliced()
    work.run()
    work.run()
    clock.advance(10 * GAP_MS)
    expect(done).toEqual(['1a', '1b'])
    work.run()
    clock.advance(10 * GAP_MS)
    expect(done).toEqual(['1a', '1b', '2a', '2b'])
  })

  test('that fails is reported, and starts again at the next run', () => {
    const { work, done, failed, clock } = sliced('1b')
    work.run()
    clock.advance(10 * GAP_MS)
    expect(failed).toEqual(['1b'])
    work.run()
    clock.advance(10 * GAP_MS)
    expect(done).toEqual(['1a', '2a', '2b'])
  })

  test('that is stopped runs no further slice', () => {
    const { work, done, clock } = sliced()
    work.run()
    work.stop()
    clock.advance(10 * GAP_MS)
    expect(done).toEqual(['1a'])
  })
})

function sliced(failing?: string) {
  const clock = new ManualClock()
  const done: string[] = []
  const failed: string[] = []
  let times = 0
  const work = new SlicedWork(clock, GAP_MS, {
    *begin() {
      times += 1
      for (const slice of [`${times}a`, `${times}b`]) {
        if (slice === failing) throw new Error(slice)
        done.push(slice)
        yield
      }
    },
    onFailed: (cause) => failed.push(cause instanceof Error ? cause.message : String(cause)),
  })
  return { work, done, failed, clock }
}
