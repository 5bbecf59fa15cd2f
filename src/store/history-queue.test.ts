import { describe, expect, test } from 'vitest'
import { blockKinds } from './history-block.ts'
import { HistoryQueue } from './history-queue.ts'
import { barAt, barBatch, barsFrom, batchOf, START_MS, sampleAt } from './testing/history-rows.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

describe('history queue', () => {
  test('holds one patch for all rows of a block', () => {
    const queue = new HistoryQueue()
    queue.add(barBatch('BTC', barsFrom(START_MS, 97)))
    queue.add(barBatch('ETH', barsFrom(START_MS, 1)))
    // 96 hours each.
    const block = Math.floor(START_MS / (4 * DAY_MS))
    expect(queue.due(false).map(({ coin, number }) => [coin, number])).toEqual([
      ['BTC', block],
      ['BTC', block + 1],
      ['ETH', block],
    ])
  })

  test('forgets what is on disk, and no row that came after', () => {
    const queue = new HistoryQueue()
    queue.add(barBatch('BTC', [barAt(START_MS)]))
    const written = queue.due(false)
    queue.remove(written)
    expect(queue.due(false)).toEqual([])
    queue.add(barBatch('BTC', [barAt(START_MS)]))
    queue.remove(written)
    expect(queue.due(false), 'another patch of the same block').toHaveLength(1)
  })

  test.each([
    { order: 'ascending', minutes: [20, 21, 22, 23, 24] },
    { order: 'descending', minutes: [24, 23, 22, 21, 20] },
  ])('holds little more than the rows that wait: $order', ({ minutes }) => {
    const queue = new HistoryQueue()
    for (const minute of minutes)
      queue.add(batchOf({ samples: [sampleAt('BTC', START_MS + minute * MINUTE_MS)] }))
    expect(queue.rows).toBe(5)
    const { fields } = blockKinds.samples
    expect(queue.due(true)[0]?.rows.length).toBeLessThanOrEqual(2 * 5 * fields)
  })

  test('puts a quarter-hourly sample among those that are kept for a month as well', () => {
    const queue = new HistoryQueue()
    for (const minute of [14, 15, 16])
      queue.add(batchOf({ samples: [sampleAt('BTC', START_MS + minute * MINUTE_MS)] }))
    const rowsOf = (kind: (typeof blockKinds)['samples' | 'sparseSamples']) =>
      queue
        .due(true)
        .filter((patch) => patch.kind === kind)
        .map(({ rows }) => rows.filter((value) => !Number.isNaN(value)).length)
    // Two of the eight numbers are not known.
    expect(rowsOf(blockKinds.samples)).toEqual([3 * 6])
    expect(rowsOf(blockKinds.sparseSamples)).toEqual([6])
  })

  test('hands out samples again after the clock was put back', () => {
    const queue = new HistoryQueue()
    queue.add(batchOf({ samples: [sampleAt('BTC', START_MS + DAY_MS)] }))
    queue.remove(queue.due(false))
    queue.add(batchOf({ samples: [sampleAt('BTC', START_MS + MINUTE_MS)] }))
    expect(queue.due(false)).toHaveLength(1)
  })

  test('knows how far the venue has come', () => {
    const queue = new HistoryQueue()
    expect(queue.newestBarEndMs).toBeNaN()
    queue.add(barBatch('BTC', barsFrom(START_MS, 2)))
    queue.add(barBatch('BTC', [barAt(START_MS - DAY_MS)]))
    expect(queue.newestBarEndMs).toBe(START_MS + 120 * MINUTE_MS)
  })

  test('does not take bars that no start reads', () => {
    const queue = new HistoryQueue()
    const bar = barAt(START_MS)
    for (const timeframe of ['15m', '4h'] as const)
      queue.add(batchOf({ bars: [{ coin: 'BTC', timeframe, bar }] }))
    expect(queue.rows).toBe(0)
  })
})
