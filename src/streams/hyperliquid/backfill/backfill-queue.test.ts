import { beforeEach, describe, expect, test } from 'vitest'
import type { BackfillTask } from './backfill-queue.ts'
import { BackfillQueue } from './backfill-queue.ts'

const volumes: Readonly<Record<string, number>> = { BIG: 3, MIDDLE: 2, TAIL: 1 }
const volumeOf = (coin: string) => volumes[coin] ?? 0

describe('the history that is asked next', () => {
  let backfill: BackfillQueue
  beforeEach(() => {
    backfill = new BackfillQueue()
  })

  function next(): BackfillTask {
    const task = backfill.next(0, volumeOf)
    if (task === undefined) throw new Error('something is due')
    return task
  }

  function warmUp(coin: string): void {
    backfill.acknowledge(coin, 0)
    backfill.done(next())
  }

  test('is that of the most traded coin', () => {
    for (const coin of ['TAIL', 'BIG', 'MIDDLE']) backfill.acknowledge(coin, 0)
    expect(next().coin).toBe('BIG')
  })

  test('is a gap before a coin that warms up, however little it trades', () => {
    warmUp('TAIL')
    backfill.acknowledge('BIG', 0)
    backfill.remove('TAIL')
    backfill.acknowledge('TAIL', 0)
    expect(next().coin).toBe('TAIL')
    backfill.done(next())
    expect(next().coin).toBe('BIG')
  })

  test('is of several gaps that of the most traded coin', () => {
    for (const coin of ['TAIL', 'MIDDLE']) warmUp(coin)
    backfill.acknowledge('BIG', 0)
    backfill.sweep(0, () => true)
    expect(next().coin).toBe('MIDDLE')
  })

  test('is a warm-up after three gaps, though there are more of them', () => {
    const gaps = ['A', 'B', 'C', 'D']
    for (const coin of gaps) warmUp(coin)
    for (const coin of [...gaps, 'BIG', 'MIDDLE']) backfill.acknowledge(coin, 0)
    const order: string[] = []
    for (let turn = 0; turn < 6; turn += 1) {
      const task = next()
      order.push(task.coin)
      backfill.done(task)
    }
    expect(order).toEqual(['A', 'B', 'C', 'BIG', 'D', 'MIDDLE'])
  })

  test('of a relisted coin is a warm-up again', () => {
    warmUp('TAIL')
    backfill.keep(() => false)
    for (const coin of ['TAIL', 'BIG']) backfill.acknowledge(coin, 0)
    expect(next().coin).toBe('BIG')
  })
})
