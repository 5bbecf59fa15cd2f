import { expect, test } from 'vitest'
import { FillsBudget } from './fills-budget.ts'

const SECOND_MS = 1_000

test('while the venue answers for no account all wait; once it answers, no account waits longer', () => {
  const budget = new FillsBudget(100, 0)
  for (const account of ['one', 'other', 'one']) budget.accountFailed(account, 0, 1)
  expect(budget.take(19 * SECOND_MS)).toBe(false)
  expect(budget.take(20 * SECOND_MS)).toBe(true)
  expect(budget.isDeferred('one', 20 * SECOND_MS)).toBe(true)
  budget.answered('third', 0, 21 * SECOND_MS)
  expect(budget.isDeferred('one', 21 * SECOND_MS)).toBe(false)
  budget.accountFailed('one', 21 * SECOND_MS, 1)
  expect(budget.isDeferred('one', 80 * SECOND_MS), 'its third failure').toBe(true)
  expect(budget.take(21 * SECOND_MS), 'the others do not wait').toBe(true)
})

test('after a failure all accounts wait; one that fails again waits longer, and alone', () => {
  const budget = new FillsBudget(100, 0)
  expect(budget.take(0)).toBe(true)
  budget.accountFailed('vault', 0, 1)
  expect(budget.take(4 * SECOND_MS)).toBe(false)
  expect(budget.take(5 * SECOND_MS)).toBe(true)
  expect(budget.isDeferred('vault', 14 * SECOND_MS)).toBe(true)
  expect(budget.isDeferred('other', 14 * SECOND_MS)).toBe(false)
  expect(budget.isDeferred('vault', 15 * SECOND_MS)).toBe(false)
  budget.accountFailed('vault', 15 * SECOND_MS, 1)
  expect(budget.take(15 * SECOND_MS), 'the others do not wait').toBe(true)
  expect(budget.isDeferred('vault', 44 * SECOND_MS)).toBe(true)
  budget.answered('vault', 0, 45 * SECOND_MS)
  budget.accountFailed('vault', 45 * SECOND_MS, 1)
  expect(budget.isDeferred('vault', 60 * SECOND_MS), 'an answer ends the failures').toBe(false)
})
