import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { HealthFault } from './health-monitor.ts'
import { HealthMonitor } from './health-monitor.ts'

describe('a watch', () => {
  let clock: ManualClock
  let found: string | null | Error
  let probes: number
  let changes: (HealthFault | null)[]
  let watch: HealthMonitor

  beforeEach(() => {
    clock = new ManualClock(0)
    found = null
    probes = 0
    changes = []
    watch = new HealthMonitor({
      clock,
      chance: () => 0,
      probe: async () => {
        probes += 1
        if (found instanceof Error) throw found
        return found
      },
      onChange: (fault) => changes.push(fault),
    })
  })

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500)
      await settled()
    }
  }

  test('finds nothing wrong before it looked, and looks every 15 s', async () => {
    expect(watch.fault).toBeNull()
    watch.start()
    await settled()
    expect(probes).toBe(1)
    await pass(60_000)
    expect(probes).toBe(5)
    expect(changes).toEqual([])
  })

  test('says what is wrong and since when, and that it is over', async () => {
    watch.start()
    await settled()
    found = 'down'
    await pass(15_000)
    found = new Error('still down')
    await pass(5_000)
    expect(watch.fault).toEqual({ reason: 'still down', sinceMs: 15_000 })
    found = null
    await pass(16_000)
    expect(watch.fault).toBeNull()
    expect(changes.map((fault) => fault?.reason ?? null)).toEqual(['down', null])
  })

  test('probes immediately after one failed sale, and once a second for many', async () => {
    watch.start()
    await settled()
    await pass(5_000)
    found = 'down'
    watch.reportFailure()
    await pass(500)
    expect([probes, watch.fault?.reason]).toEqual([2, 'down'])
    found = null
    await pass(1_000)
    expect(watch.fault).toBeNull()
    const before = probes
    for (let sales = 0; sales < 20; sales += 1) {
      watch.reportFailure()
      await pass(500)
    }
    expect(probes - before, 'in ten seconds').toBeLessThanOrEqual(10)
  })

  test('believes a sale that got through, which needs no probe', async () => {
    found = 'down'
    watch.start()
    await settled()
    watch.reportSuccess()
    expect(watch.fault).toBeNull()
    for (let seconds = 0; seconds < 60; seconds += 5) {
      watch.reportSuccess()
      await pass(5_000)
    }
    expect(probes).toBe(1)
  })

  test('takes a probe that hangs for one that failed', async () => {
    const hanging = new HealthMonitor({
      clock,
      chance: () => 0,
      probe: () => new Promise(() => {}),
    })
    hanging.start()
    await pass(6_500)
    expect(hanging.fault).toMatchObject({ reason: 'no answer within 6000 ms' })
    hanging.stop()
  })

  test('sends no probe after it is stopped', async () => {
    watch.start()
    await settled()
    watch.stop()
    watch.reportFailure()
    await pass(60_000)
    expect(probes).toBe(1)
  })
})

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}
