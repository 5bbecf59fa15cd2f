import { describe, expect, test } from 'vitest'
import { CLOCK_OFF_MS_MAX, ClockCheck } from './clock-check.ts'

const TEN_MINUTES = 600_000

/** @param aheadMs how far our clock is ahead of the true time */
function checkAt(aheadMs: number, venueIsKnown = true) {
  const clock = { trueMs: 1_000_000_000, nowMs: () => clock.trueMs + aheadMs }
  const check = new ClockCheck({
    clock,
    ...(venueIsKnown && { venueAheadMs: () => -aheadMs }),
  })
  return { check, clock }
}

describe('the clock', () => {
  test('is right without contrary evidence', () => {
    expect(checkAt(TEN_MINUTES, false).check.fault).toBeNull()
  })

  test.each([
    { aheadMs: CLOCK_OFF_MS_MAX, isOff: false },
    { aheadMs: -CLOCK_OFF_MS_MAX, isOff: false },
    { aheadMs: CLOCK_OFF_MS_MAX + 1, isOff: true },
    { aheadMs: -CLOCK_OFF_MS_MAX - 1, isOff: true },
  ])('that is $aheadMs ms ahead of the venue is off: $isOff', ({ aheadMs, isOff }) => {
    expect(checkAt(aheadMs).check.fault !== null).toBe(isOff)
  })

  test('that is off says by how much, and of what', () => {
    const { check, clock } = checkAt(TEN_MINUTES)
    check.report('eip155:8453', clock.trueMs)
    expect(check.fault?.reason).toBe(
      'the clock of this machine is 600 s ahead of venue, 600 s ahead of eip155:8453',
    )
    expect(check.disagrees('eip155:8453'), 'it is the clock that is wrong').toBeNull()
  })

  test('is right where one reference agrees: a node whose newest block is old has fallen behind', () => {
    const { check, clock } = checkAt(0)
    check.report('eip155:8453', clock.trueMs - TEN_MINUTES)
    expect(check.fault).toBeNull()
    expect(check.disagrees('eip155:8453')).toBe('its newest block is 600 s old')
  })

  test('is not judged by old readings', () => {
    const { check, clock } = checkAt(0, false)
    check.report('eip155:8453', clock.trueMs - TEN_MINUTES)
    expect(check.fault).not.toBeNull()
    clock.trueMs += 61_000
    expect(check.fault).toBeNull()
  })
})
