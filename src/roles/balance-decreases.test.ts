import { Counter, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { countDecreases } from './balance-decreases.ts'

test('decreases add up; a refill and an unknown balance are no expense', async () => {
  const spent = new Counter({ name: 'spent', help: 'Spent.', registers: [new Registry()] })
  const read = countDecreases(spent)
  for (const balance of [10, 8, Number.NaN, 7, 20, 19.5]) read(balance)
  expect((await spent.get()).values[0]?.value).toBe(3.5)
})
