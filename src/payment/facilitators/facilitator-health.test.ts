import { describe, expect, test } from 'vitest'
import { FacilitatorHealth } from './facilitator-health.ts'

describe('the health of a facilitator', () => {
  test('is in service before anything is known', () => {
    const health = new FacilitatorHealth(1)
    expect([health.state, health.isInService, health.sinceMs]).toEqual(['untried', true, 1])
  })

  test('is out of service after one failure, and says since when and why', () => {
    const health = new FacilitatorHealth(1)
    health.failed('down', 'cut', 'payment', 2)
    health.failed('down', 'hung', 'payment', 3)
    expect([health.state, health.isInService, health.sinceMs]).toEqual(['down', false, 2])
    expect(health.lastError).toEqual({ reason: 'hung', atMs: 3 })
    expect(health.failures).toBe(2)
  })

  test('is well again after a verdict on a payment, and forgets its failures', () => {
    const health = new FacilitatorHealth(1)
    health.failed('refusing', 'status 401', 'payment', 2)
    health.answered(5)
    expect([health.state, health.sinceMs, health.failures]).toEqual(['up', 5, 0])
  })

  test('is in service after a probe; failed payments stay counted', () => {
    const health = new FacilitatorHealth(1)
    health.failed('down', 'hung', 'payment', 2)
    health.probed(true, 3)
    expect([health.state, health.failures]).toEqual(['up', 1])
    health.failed('down', 'hung', 'payment', 4)
    health.probed(true, 5)
    expect(health.failures, 'who answers nothing but probes is tried ever more rarely').toBe(2)
  })

  test('forgets them once it was up for a whole round', () => {
    const health = new FacilitatorHealth(1)
    health.failed('down', 'hung', 'payment', 2)
    health.probed(true, 3)
    health.probed(true, 4)
    expect(health.failures).toBe(0)
  })

  test('forgets failed probes at the first that is answered', () => {
    const health = new FacilitatorHealth(1)
    health.failed('down', 'cut', 'probe', 2)
    health.probed(true, 3)
    expect([health.state, health.failures]).toEqual(['up', 0])
  })

  test('is out of service while it can do nothing of what is sold', () => {
    const health = new FacilitatorHealth(1)
    health.probed(false, 2)
    expect([health.state, health.isInService]).toEqual(['unfit', false])
  })

  test('is gone only once a probe failed as well: a payment may have been made to fail', () => {
    const health = new FacilitatorHealth(1)
    health.failed('down', 'hung', 'payment', 2)
    expect([health.isInService, health.isGone]).toEqual([false, false])
    health.failed('down', 'hung', 'probe', 3)
    expect(health.isGone).toBe(true)
    health.probed(true, 4)
    expect(health.isGone).toBe(false)
    health.failed('refusing', 'status 401', 'payment', 5)
    expect(health.isGone, 'whoever pays').toBe(true)
  })
})
