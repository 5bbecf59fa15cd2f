import { expect, test } from 'vitest'
import type { ChaosOptions } from './chaos.ts'
import { runChaos } from './chaos.ts'

/** Nothing else goes wrong, so that whatever is found was planted: a busy machine is no payment without an end. */
const CALM = { seed: 3, purchases: 8, kills: false, shortLived: 0, patienceMs: 30_000 } as const
/** Where payments have no end, all of it is waited for. */
const WITHOUT_END = { patienceMs: 5_000 } as const
const honest = {}

test('nothing is found where nothing was planted', async () => {
  const { charges, violations } = await planted({ everySettlement: honest })
  expect(violations).toEqual([])
  expect(charges).toBe(CALM.purchases)
})

test('a facilitator that lies about the funds, and transfers later, is found to charge twice', async () => {
  const everySettlement = {
    acts: 'afterwards',
    answer: { reason: 'insufficient_funds' },
  } as const
  expect(await found({ everySettlement })).toContain('a purchase was charged twice')
})

const invented = { acts: 'never', answer: { success: `0x${'ab'.repeat(32)}` } } as const

test('a service that believes in a transfer that never was is found to give answers away', async () => {
  expect(await found({ everySettlement: invented, defect: 'believes' })).toEqual(
    new Set(['an answer without a charge']),
  )
})

test('a facilitator that invents a transfer gets nothing given away', async () => {
  expect(await found({ ...WITHOUT_END, everySettlement: invented })).not.toContain(
    'an answer without a charge',
  )
})

test('a service that does not give again what was paid for is found', async () => {
  expect(await found({ everySettlement: honest, defect: 'forgets' })).toContain(
    'a charge without an answer',
  )
})

test('payments that never come to an end are found', async () => {
  const everySettlement = { acts: 'never', answer: 'cut' } as const
  expect(await found({ ...WITHOUT_END, everySettlement })).toEqual(
    new Set(['a purchase without an end']),
  )
})

test('a service that gives each copy other bytes is found', async () => {
  expect(await found({ everySettlement: honest, defect: 'other bytes' })).toEqual(
    new Set(['copies with other bytes']),
  )
})

function planted(changes: Partial<ChaosOptions>) {
  return runChaos({ ...CALM, ...changes })
}

async function found(changes: Partial<ChaosOptions>) {
  const { violations } = await planted(changes)
  return new Set(violations.map(({ rule }) => rule))
}
