import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { naiveStates } from '../../../../test/golden/naive-depeg.ts'
import { PegStatus } from './peg-status.ts'

const START_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000

type Look = {
  readonly deviationBps: number
  readonly confidenceBps: number
  readonly isNew: boolean
}

/** A look a second. */
function statusesOf(looks: readonly Look[], restartAt = -1): string[] {
  let status = new PegStatus()
  let receivedMs = 0
  return looks.map(({ deviationBps, confidenceBps, isNew }, at) => {
    const nowMs = START_MS + at * SECOND_MS
    if (isNew) receivedMs = nowMs
    if (at === restartAt) {
      const restored = new PegStatus()
      expect(restored.restore(Float64Array.from(status.save()))).toBe(true)
      status = restored
    }
    status.step(nowMs, { deviationBps, confidenceBps }, receivedMs)
    return status.name
  })
}

const look = (deviationBps: number, confidenceBps = 0, isNew = true): Look => ({
  deviationBps,
  confidenceBps,
  isNew,
})

describe('status of a peg', () => {
  test.each([
    [9.99, 'HEALTHY'],
    // Printed as 10.
    [9.996, 'ELEVATED'],
    [10, 'ELEVATED'],
    [49.99, 'ELEVATED'],
    [50, 'WARNING'],
    [200, 'WARNING'],
    [200.004, 'WARNING'],
    [200.01, 'CRITICAL'],
  ])('%f bps for sure are %s, on either side', (distanceBps, name) => {
    expect(statusesOf([look(distanceBps)])).toEqual([name])
    expect(statusesOf([look(-distanceBps)])).toEqual([name])
  })

  test('the worked example of the contract is healthy', () => {
    expect(statusesOf([look(-3.8, 1.1)])).toEqual(['HEALTHY'])
  })

  test('what the confidence could explain counts the third time in a row', () => {
    expect(statusesOf([look(-12, 5), look(-12, 5), look(-12, 5)])).toEqual([
      'HEALTHY',
      'HEALTHY',
      'ELEVATED',
    ])
  })

  test('the same observation does not count twice', () => {
    const again = look(-12, 5, false)
    expect(statusesOf([look(-12, 5), again, again, again, again]).at(-1)).toBe('HEALTHY')
  })

  test('one observation below restarts the count', () => {
    const looks = [look(12, 5), look(12, 5), look(9, 5), look(12, 5), look(12, 5)]
    expect(new Set(statusesOf(looks))).toEqual(new Set(['HEALTHY']))
  })

  test('falls immediately', () => {
    expect(statusesOf([look(300), look(30), look(3)])).toEqual(['CRITICAL', 'ELEVATED', 'HEALTHY'])
  })

  test('refuses numbers of another shape', () => {
    expect(new PegStatus().restore([])).toBe(false)
    expect(new PegStatus().restore(new PegStatus().save().with(0, 7))).toBe(false)
  })

  property.prop([
    fc.array(
      fc.record({
        deviationBps: fc.constantFrom(0, -8, 9, 11, -14, 48, -52, 60, 199, 201, -260),
        confidenceBps: fc.constantFrom(0, 1, 5, 70),
        isNew: fc.boolean(),
      }),
      { maxLength: 60 },
    ),
    fc.nat({ max: 60 }),
  ])('is what looking back at everything gives, also after a restart', (looks, restartAt) => {
    let receivedMs = 0
    const instants = looks.map(({ deviationBps, confidenceBps, isNew }, at) => {
      const atMs = START_MS + at * SECOND_MS
      if (isNew) receivedMs = atMs
      const priceUsd = 1 + deviationBps / 10_000
      return { atMs, priceUsd, deviationBps, confidenceBps, adjustedBps: 0, called: 0, receivedMs }
    })
    expect(statusesOf(looks, restartAt)).toEqual(naiveStates(instants).map(({ status }) => status))
  })
})
