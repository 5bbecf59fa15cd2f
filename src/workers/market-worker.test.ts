import process from 'node:process'
import { afterEach, expect, test, vi } from 'vitest'
import { collectLargeJob } from './market-worker.ts'

const MIB = 2 ** 20

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

test.each([
  { left: 2 * MIB, calls: [[{ type: 'major', execution: 'sync', flavor: 'last-resort' }]] },
  { left: MIB / 2, calls: [] },
])('$left bytes of buffers that jobs have left', ({ left, calls }) => {
  const gc = vi.fn()
  vi.stubGlobal('gc', gc)
  vi.spyOn(process, 'memoryUsage').mockReturnValue({ ...process.memoryUsage(), arrayBuffers: left })
  collectLargeJob()
  expect(gc.mock.calls).toEqual(calls)
})
