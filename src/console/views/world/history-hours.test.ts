import { expect, test } from 'vitest'
import { historyInstants } from './history-hours.ts'

const iso = (atIso: string, count: number) =>
  historyInstants(Date.parse(atIso), count).map((ms) => new Date(ms).toISOString().slice(5, 16))

test('hours of the history are multiples of three, the last one before the answer', () => {
  expect(iso('2026-11-27T05:59:59Z', 3)).toEqual(['11-26T21:00', '11-27T00:00', '11-27T03:00'])
})

test('an answer of a full hour ends with it', () => {
  expect(iso('2026-11-27T06:00:00Z', 2)).toEqual(['11-27T03:00', '11-27T06:00'])
})
