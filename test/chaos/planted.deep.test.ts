import { describe, expect, test } from 'vitest'
import type { ChaosOptions } from './chaos.ts'
import { runChaos } from './chaos.ts'

/** Without other faults, so that only the planted defect is found. Nobody waits for all of this patience. */
const CALM = { seed: 3, purchases: 8, kills: false, shortLived: 0, patienceMs: 180_000 } as const
/** Shorter, because endless payments wait for all of it. */
const WITHOUT_END = { patienceMs: 5_000 } as const
const honest = {}

const invented = { acts: 'never', answer: { success: `0x${'ab'.repeat(32)}` } } as const

// They wait for most of their time: for chains and hosts, and for buyers who lose patience.
describe.concurrent('chaos', () => {
  test('nothing is found without a planted defect', async () => {
    const { charges, violations } = await planted({ everySettlement: honest })
    expect(violations).toEqual([])
    expect(charges).toBe(CALM.purchases)
  })

  test('a facilitator that denies the funds and transfers later is found to charge twice', async () => {
    const everySettlement = {
      acts: 'afterwards',
      answer: { reason: 'insufficient_funds' },
    } as const
    expect(await found({ everySettlement })).toContain('a purchase was charged twice')
  })

  test('a service that trusts an invented transfer is found to give answers away', async () => {
    expect(await found({ everySettlement: invented, defect: 'believes' })).toEqual(
      new Set(['an answer without a charge']),
    )
  })

  test('a facilitator that invents a transfer obtains no answer', async () => {
    expect(await found({ ...WITHOUT_END, everySettlement: invented })).not.toContain(
      'an answer without a charge',
    )
  })

  test('a service that does not resend a paid answer is found', async () => {
    // Buyers ask for all of their patience.
    const options = { everySettlement: honest, defect: 'forgets', patienceMs: 10_000 } as const
    expect(await found(options)).toContain('a charge without an answer')
  })

  test('endless payments are found', async () => {
    const everySettlement = { acts: 'never', answer: 'cut' } as const
    expect(await found({ ...WITHOUT_END, everySettlement })).toEqual(
      new Set(['a purchase without an end']),
    )
  })

  test('a service that sends different bytes to each copy is found', async () => {
    expect(await found({ everySettlement: honest, defect: 'other bytes' })).toEqual(
      new Set(['copies with other bytes']),
    )
  })
})

function planted(changes: Partial<ChaosOptions>) {
  return runChaos({ ...CALM, ...changes })
}

async function found(changes: Partial<ChaosOptions>) {
  const { violations } = await planted(changes)
  return new Set(violations.map(({ rule }) => rule))
}
