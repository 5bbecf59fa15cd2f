import { afterEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { collectWhenLoaded } from './lean-process.ts'

const MINUTE_MS = 60_000

afterEach(() => {
  vi.unstubAllGlobals()
})

test('memory is given back when the disk is read, and again when the history of the venue is loaded', () => {
  const clock = new ManualClock()
  const collectedMs: number[] = []
  vi.stubGlobal('gc', ({ flavor }: { readonly flavor: string }) => {
    expect(flavor, 'V8 keeps what it has after any other').toBe('last-resort')
    collectedMs.push(clock.nowMs())
  })
  const startedMs = clock.nowMs()
  collectWhenLoaded(clock)
  clock.advance(60 * MINUTE_MS)
  expect(collectedMs.map((ms) => (ms - startedMs) / MINUTE_MS)).toEqual([2, 4, 20])
})

test('an engine that has ended collects nothing, and one without the flag goes on', () => {
  const clock = new ManualClock()
  vi.stubGlobal('gc', undefined)
  const cancel = collectWhenLoaded(clock)
  expect(() => clock.advance(2 * MINUTE_MS)).not.toThrow()
  const gc = vi.fn()
  vi.stubGlobal('gc', gc)
  cancel()
  clock.advance(60 * MINUTE_MS)
  expect(gc).not.toHaveBeenCalled()
})
