import { describe, expect, test } from 'vitest'
import { LeadLagSeconds } from './lead-lag.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

describe('lead and lag', () => {
  test.each([-10, -3, 0, 4, 10])('finds a lag of %i s', (lag) => {
    const walk = walkOf(700)
    const seconds = new LeadLagSeconds()
    for (let at = 50; at < 650; at += 1)
      seconds.add(NOW_MS + at * 1_000, walk[at] as number, walk[at - lag] as number)
    const measured = seconds.measure()
    expect(measured?.lagSeconds).toBe(lag)
    expect(measured?.correlation).toBeCloseTo(1, 6)
  })

  test('is the same by Pearson over the pairs, one by one', () => {
    const [first, second] = [walkOf(600), walkOf(600, 3)]
    const seconds = new LeadLagSeconds()
    const mixed = second.map((value, at) => value * (first[Math.max(0, at - 2)] as number))
    for (let at = 0; at < 600; at += 1)
      seconds.add(NOW_MS + at * 1_000, first[at] as number, mixed[at] as number)
    const x = returns(first).slice(0, -2)
    const y = returns(mixed).slice(2)
    expect(seconds.measure()).toEqual({
      lagSeconds: 2,
      correlation: expect.closeTo(pearson(x, y), 9),
      pairs: x.length,
    })
  })

  test('is null for two unrelated series', () => {
    const [first, second] = [walkOf(600), walkOf(600, 9)]
    const seconds = new LeadLagSeconds()
    for (let at = 0; at < 600; at += 1)
      seconds.add(NOW_MS + at * 1_000, first[at] as number, second[at] as number)
    expect(seconds.measure()).toBeNull()
  })

  test.each([
    { what: 'nothing was added', add: () => {} },
    {
      what: 'nothing moves',
      add: (seconds: LeadLagSeconds) => {
        for (let at = 0; at < 600; at += 1) seconds.add(NOW_MS + at * 1_000, 100, 100)
      },
    },
    {
      what: 'there are holes in most minutes',
      add: (seconds: LeadLagSeconds) => {
        const walk = walkOf(600)
        for (let at = 0; at < 600; at += 2)
          seconds.add(NOW_MS + at * 1_000, walk[at] as number, walk[at] as number)
      },
    },
    {
      what: 'the clock was put back',
      add: (seconds: LeadLagSeconds) => {
        const walk = walkOf(600)
        for (let at = 0; at < 600; at += 1)
          seconds.add(NOW_MS + at * 1_000, walk[at] as number, walk[at] as number)
        seconds.add(NOW_MS, 100, 100)
      },
    },
  ])('is null if $what', ({ add }) => {
    const seconds = new LeadLagSeconds()
    add(seconds)
    expect(seconds.measure()).toBeNull()
  })
})

function walkOf(length: number, seed = 1): number[] {
  let state = seed >>> 0
  let price = 100
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    price *= 1 + (state / 2 ** 32 - 0.5) * 1e-3
    return price
  })
}

function returns(prices: readonly number[]): number[] {
  return prices.slice(1).map((price, at) => Math.log(price / (prices[at] as number)))
}

function pearson(x: readonly number[], y: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const [meanX, meanY] = [mean(x), mean(y)]
  let [cross, squareX, squareY] = [0, 0, 0]
  for (const [at, value] of x.entries()) {
    const other = (y[at] as number) - meanY
    cross += (value - meanX) * other
    squareX += (value - meanX) ** 2
    squareY += other ** 2
  }
  return cross / Math.sqrt(squareX * squareY)
}
