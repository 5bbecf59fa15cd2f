import { expect, test } from 'vitest'
import { lastReading, ThreadMeter } from './thread-usage.ts'

test('measures this thread', () => {
  const { heapUsedBytes, heapLimitBytes, externalBytes } = new ThreadMeter().read()
  expect(heapUsedBytes).toBeGreaterThan(1_000_000)
  expect(heapLimitBytes).toBeGreaterThan(heapUsedBytes)
  expect(externalBytes).toBeGreaterThan(0)
})

test('without a free file descriptor the last reading stands; other failures are thrown', () => {
  let fault: Error | null = null
  const read = lastReading(() => {
    if (fault !== null) throw fault
    return 7
  })
  expect(read()).toBe(7)
  fault = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  expect(read()).toBe(7)
  fault = Object.assign(new Error('denied'), { code: 'EACCES' })
  expect(read).toThrow('denied')
})
