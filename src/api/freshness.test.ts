import { describe, expect, test } from 'vitest'
import type { Answer, Document, Input, Warning } from '../domain/document.ts'
import { UNKNOWN_INSTANT_MS } from '../domain/document.ts'
import { freshness, loadBearingAgeMs, overdue } from './freshness.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

type Case = {
  readonly title: string
  readonly loadBearingAgeMs: number
  readonly otherAgeMs?: number
  readonly coveragePct?: number
  readonly warnings?: readonly Warning[]
  readonly grade: string
  readonly expected: readonly Warning[]
}

/** Every input below has a cadence of one minute. */
const cases: readonly Case[] = [
  { title: 'all young', loadBearingAgeMs: 119_999, grade: 'A', expected: [] },
  {
    title: 'another input late',
    loadBearingAgeMs: 0,
    otherAgeMs: 120_000,
    grade: 'B',
    expected: ['feed_degraded'],
  },
  { title: 'coverage of 90', loadBearingAgeMs: 0, coveragePct: 90, grade: 'B', expected: [] },
  { title: 'coverage below 90', loadBearingAgeMs: 0, coveragePct: 89, grade: 'C', expected: [] },
  {
    title: 'a load-bearing input late',
    loadBearingAgeMs: 120_000,
    grade: 'C',
    expected: ['feed_degraded'],
  },
  {
    title: 'short history',
    loadBearingAgeMs: 0,
    warnings: ['short_history'],
    grade: 'C',
    expected: ['short_history'],
  },
  {
    title: 'exactly two hours',
    loadBearingAgeMs: 2 * HOUR_MS,
    grade: 'C',
    expected: ['feed_degraded'],
  },
  {
    title: 'beyond two hours',
    loadBearingAgeMs: 2 * HOUR_MS + 1,
    warnings: ['model_estimate'],
    grade: 'D',
    expected: ['model_estimate', 'stale_data', 'feed_degraded'],
  },
  {
    title: 'another input beyond two hours',
    loadBearingAgeMs: 0,
    otherAgeMs: 3 * HOUR_MS,
    grade: 'B',
    expected: ['feed_degraded'],
  },
  {
    title: 'a warning that is there already',
    loadBearingAgeMs: 3 * HOUR_MS,
    warnings: ['stale_data', 'feed_degraded'],
    grade: 'D',
    expected: ['stale_data', 'feed_degraded'],
  },
]

describe('freshness', () => {
  test.each(cases)('$title is a $grade', (given) => {
    const { otherAgeMs = 0, coveragePct = 100, warnings = [] } = given
    const answer: Answer = {
      kind: 'answer',
      parts: [],
      inputs: [input(given.loadBearingAgeMs, true), input(otherAgeMs, false)],
      coveragePct,
      warnings,
    }
    const found = freshness(document, answer, NOW_MS)
    expect(found.grade).toBe(given.grade)
    expect(found.warnings).toEqual(given.expected)
    expect(found.dataAgeMs).toBe(given.loadBearingAgeMs)
  })

  test.each(cases)('with the clock off $title has no better grade and never A', (given) => {
    const { otherAgeMs = 0, coveragePct = 100, warnings = [] } = given
    const inputs = [input(given.loadBearingAgeMs, true), input(otherAgeMs, false)]
    const found = freshness(document, { inputs, coveragePct, warnings }, NOW_MS, true)
    expect(found.grade >= 'C' && found.grade >= given.grade).toBe(true)
    expect(found.warnings).toEqual([...given.expected, 'clock_off'])
  })

  test('small corrections of the clock make nothing younger than now', () => {
    expect(loadBearingAgeMs(document, confirmed(-4_000), NOW_MS)).toBe(0)
  })

  test('an input of unknown age makes the age infinite', () => {
    expect(loadBearingAgeMs(document, confirmed(NOW_MS - UNKNOWN_INSTANT_MS), NOW_MS)).toBe(
      Number.POSITIVE_INFINITY,
    )
  })

  test('after the clock was set back, ages of earlier confirmations are unknown', () => {
    expect(loadBearingAgeMs(document, confirmed(-6_000), NOW_MS)).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('overdue inputs', () => {
  const answerOf = (inputs: readonly Input[]): Answer => ({
    kind: 'answer',
    parts: [],
    inputs,
    coveragePct: 100,
    warnings: [],
  })
  const strict = (ageMs: number): Input => ({ ...input(ageMs, true), ageMsMax: 60_000 })

  test('an input may be as old as the contract allows, not older', () => {
    expect(overdue(document, answerOf([input(300_000, true)]), 300_000, NOW_MS)).toBeNull()
    expect(overdue(document, answerOf([input(300_001, true)]), 300_000, NOW_MS)).toEqual({
      input: 'any',
      ageMs: 300_001,
      ageMsMax: 300_000,
    })
  })

  test('an input with its own limit refuses the answer although others may be older', () => {
    const inputs = [input(299_000, true), strict(60_000)]
    expect(overdue(document, answerOf(inputs), 300_000, NOW_MS)).toBeNull()
    const late = [input(299_000, true), strict(60_001)]
    expect(overdue(document, answerOf(late), 300_000, NOW_MS)).toEqual({
      input: 'any',
      ageMs: 60_001,
      ageMsMax: 60_000,
    })
  })

  test('an input that is not load-bearing refuses nothing without its own limit', () => {
    const inputs = [input(1e9, false), input(0, true)]
    expect(overdue(document, answerOf(inputs), 300_000, NOW_MS)).toBeNull()
  })

  test('an answer without load-bearing inputs may be as old as the contract allows', () => {
    const lateMs = document.renderedAtMs + 300_001
    expect(overdue(document, answerOf([]), 300_000, lateMs - 1)).toBeNull()
    expect(overdue(document, answerOf([]), 300_000, lateMs)).toEqual({
      input: null,
      ageMs: 300_001,
      ageMsMax: 300_000,
    })
  })
})

function confirmed(ageMs: number): Answer {
  const inputs = [input(0, true), input(ageMs, true)]
  return { kind: 'answer', parts: [], inputs, coveragePct: 100, warnings: [] }
}

const document: Document = {
  key: 'pulse/BTC',
  version: 1,
  renderedAtMs: NOW_MS,
  bytes: new Uint8Array(),
  parts: [],
  views: {},
}

function input(ageMs: number, isLoadBearing: boolean): Input {
  return { name: 'any', confirmedAtMs: NOW_MS - ageMs, cadenceMs: 60_000, isLoadBearing }
}
