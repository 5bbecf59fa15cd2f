import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Target } from './node-questions.ts'
import {
  flood,
  freshAddresses,
  NOISE_MS,
  openBase,
  openSolana,
  PURCHASES,
  siege,
  signedMany,
} from './node-questions.ts'
import { limitOf } from './recovery.ts'

/** Node calls for each junk request beyond the first ten of its address. */
const CALLS_PER_REQUEST_MAX = 0.1
/** At most ten requests for many payers, five for one, and those of ten purchases in a second. */
const CALLS_PER_SECOND_MAX = 25

describe.each([
  ['Base', openBase],
  ['Solana', openSolana],
] as const)('who owns nothing, on %s', (_chain, open) => {
  let attacked: Target

  beforeAll(async () => {
    attacked = await open()
  })

  afterAll(() => attacked?.close())

  test.each(['concurrent', 'sequential'] as const)(
    'makes us ask a node for ten payments from one address, %s',
    async (how) => {
      const payments = await signedMany(100, attacked.poorPayment)
      const { callsPerRequest, statuses } = await flood(attacked, payments, how, freshAddresses(1))
      expect(callsPerRequest).toBeLessThanOrEqual(CALLS_PER_REQUEST_MAX)
      expect(statuses[429], 'all but ten, which may meet a busy node').toBe(90)
    },
  )

  test('and signs for others makes us ask no more', async () => {
    const { forgedPayment } = attacked
    if (forgedPayment === null) return
    const payments = await signedMany(100, forgedPayment)
    const sent = await flood(attacked, payments, 'concurrent', freshAddresses(1))
    expect(sent.callsPerRequest).toBeLessThanOrEqual(CALLS_PER_REQUEST_MAX)
    expect(sent.statuses[429]).toBe(90)
  })

  test('does not keep known buyers from buying, from any number of addresses', async () => {
    const { bought, busiestNodeSecond, idleMs, controlMs, attackedMs, recovered } =
      await siege(attacked)
    expect(bought).toBe(PURCHASES)
    expect(busiestNodeSecond).toBeLessThanOrEqual(CALLS_PER_SECOND_MAX)
    expect(attackedMs).toBeLessThanOrEqual(limitOf(Math.max(idleMs, controlMs), NOISE_MS))
    expect(recovered).toBe(true)
  })
})
