import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { FirstCosts, ORDER_NOTIONALS_USD } from './first-costs.ts'

const QUARTER_MS = 900_000
const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

type Execution = readonly [afterMs: number, isBuy: boolean, notional: number, paidBps: number]
const executions = fc.array(
  fc.tuple(
    fc.nat(6 * QUARTER_MS),
    fc.boolean(),
    fc.integer({ min: 1_000, max: 2_000_000 }),
    fc.integer({ min: -50, max: 500 }),
  ),
  { maxLength: 60 },
)

describe('first costs', () => {
  property.prop([executions])('are those of a search through all executions', (given) => {
    const ordered = given.toSorted(([one], [other]) => one - other)
    const costs = new FirstCosts()
    for (const [afterMs, isBuy, notional, paidBps] of ordered)
      costs.add(START_MS + afterMs, isBuy ? 1 : -1, notional, paidBps)
    const restored = new FirstCosts()
    restored.restore(costs.save())
    for (let quarter = 0; quarter < 6; quarter += 1)
      for (const isBuy of [true, false])
        for (const [size, about] of ORDER_NOTIONALS_USD.entries()) {
          const expected = ordered.find((one) => isClaimed(one, quarter, isBuy, about))
          const fromMs = START_MS + quarter * QUARTER_MS
          const found = costs.at(fromMs, isBuy ? 1 : -1, size)
          expect(found).toBe(expected?.[3] ?? Number.NaN)
          expect(restored.at(fromMs, isBuy ? 1 : -1, size)).toBe(found)
        }
  })

  test('are unknown where trades are missing before the first one, and forgotten after two hours', () => {
    const costs = new FirstCosts()
    costs.add(START_MS + 2 * MINUTE_MS, 1, 10_000, 3)
    costs.lose(START_MS + 3 * MINUTE_MS, START_MS + 4 * MINUTE_MS)
    costs.add(START_MS + 5 * MINUTE_MS, -1, 10_000, 4)
    expect(costs.at(START_MS, 1, 0)).toBe(3)
    expect(costs.at(START_MS, -1, 0)).toBe(Number.POSITIVE_INFINITY)
    expect(costs.sizesSeen(1, START_MS + QUARTER_MS)).toEqual([0])
    expect(costs.sizesSeen(-1, START_MS + QUARTER_MS)).toEqual([])
    costs.add(START_MS + 9 * QUARTER_MS + MINUTE_MS, 1, 100_000, 9)
    expect(costs.at(START_MS, 1, 0)).toBe(Number.POSITIVE_INFINITY)
    expect(costs.sizesSeen(1, START_MS + 10 * QUARTER_MS)).toEqual([2])
  })

  test('of two hours are those before the instant, also when nobody has traded since', () => {
    const costs = new FirstCosts()
    costs.add(START_MS + 2 * MINUTE_MS, 1, 10_000, 3)
    expect(costs.sizesSeen(1, START_MS + 8 * QUARTER_MS)).toEqual([0])
    expect(costs.sizesSeen(1, START_MS + 9 * QUARTER_MS)).toEqual([])
  })
})

/** Within a factor of two of the size, and nearer to it than to every other. */
function isClaimed(
  [afterMs, isBuy, notional]: Execution,
  quarter: number,
  side: boolean,
  about: number,
) {
  const away = (size: number) => Math.abs(Math.log(notional / size))
  const nearest = ORDER_NOTIONALS_USD.toSorted((one, other) => away(one) - away(other))[0]
  return (
    isBuy === side &&
    Math.floor(afterMs / QUARTER_MS) === quarter &&
    afterMs % QUARTER_MS >= MINUTE_MS &&
    nearest === about &&
    notional >= about / 2 &&
    notional <= about * 2
  )
}
