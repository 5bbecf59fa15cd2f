import { expect, test } from 'vitest'
import type { AnswerState } from './documents.ts'
import { isOfInstant } from './same-instant.ts'

const answer: AnswerState = {
  kind: 'answer',
  answer: {},
  version: '1',
  origin: 'bought',
  atMs: 200_000,
  refusal: null,
}

test('an answer is shown with another one of at most a minute before or after', () => {
  expect([140_000, 260_000].map((atMs) => isOfInstant(answer, atMs))).toEqual([true, true])
  expect([139_999, 260_001].map((atMs) => isOfInstant(answer, atMs))).toEqual([false, false])
})

test('the last answer of a document that is refused now is of another instant', () => {
  const refusal = { code: 'data_stale', detail: 'Too old.' }
  expect(isOfInstant({ ...answer, refusal }, answer.atMs)).toBe(false)
  expect(isOfInstant({ kind: 'refused', refusal }, answer.atMs)).toBe(false)
})
