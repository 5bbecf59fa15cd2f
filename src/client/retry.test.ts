import { expect, test } from 'vitest'
import type { ProblemBody } from './errors.ts'
import { RefusedError } from './errors.ts'
import { sendUntilSettled } from './retry.ts'

function refusal(code: ProblemBody['code'], charged: boolean | null, retryAfter = 0): RefusedError {
  const problem = { code, charged, retry_after: retryAfter, payment_reusable: true }
  return new RefusedError(problem as ProblemBody)
}

/** The error after attempts that fail in this order. */
async function failed(causes: readonly Error[], mayBeCharged?: boolean): Promise<unknown> {
  const left = [...causes]
  const send = () => Promise.reject(left.shift())
  return sendUntilSettled(send, async () => undefined, mayBeCharged).catch((cause) => cause)
}

const lost = new TypeError('the connection broke')

test.each(['rate_limited', 'ledger_busy', 'internal_error'] as const)(
  '%s does not deny the charge of an earlier request',
  async (code) => {
    const last = refusal(code, false, 60)
    const open = { problem: { code, charged: null, payment_reusable: true, retry_after: 60 } }
    expect(await failed([last])).toBe(last)
    expect(await failed([lost, last])).toMatchObject(open)
    expect(await failed([refusal('settlement_unknown', null), last])).toMatchObject(open)
    expect(await failed([last], true)).toMatchObject(open)
  },
)

test('a refusal after the look-up of the payment does', async () => {
  const last = refusal('data_stale', false, 60)
  expect(await failed([lost, last])).toBe(last)
  const limited = refusal('rate_limited', false, 60)
  expect(await failed([refusal('data_stale', false), limited])).toBe(limited)
  expect(await failed([lost, refusal('data_stale', false), limited])).toBe(limited)
})
