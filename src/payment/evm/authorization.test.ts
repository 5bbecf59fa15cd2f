import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { decodeEnvelope } from '../payload.ts'
import { checkAccepted, requirementFor } from '../requirement.ts'
import { termsOf } from '../terms.ts'
import type { PaymentChoices } from '../testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../testing/buyer.ts'
import { checkAuthorization, checkWindow } from './authorization.ts'
import { exactEvm } from './exact-evm.ts'
import { decodeExactPayload } from './exact-payload.ts'
import { base, baseSepolia } from './networks.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const NOW = BigInt(NOW_MS / 1_000)
const payTo = '0x00000000000000000000000000000000000000A1'
const unasked = () => Promise.reject(new Error('nothing here needs a facilitator'))
const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
const { requirements } = termsOf(
  { priceUsdcAtomic: 20_000n, description: 'pulse' },
  [base, baseSepolia].map((network) => exactEvm({ network, payTo, facilitator })),
)

async function decoded(choices: Partial<PaymentChoices> = {}) {
  const payment = await signedPayload(newBuyer(), {
    amount: 20_000n,
    payTo,
    nowMs: NOW_MS,
    ...choices,
  })
  const envelope = decodeEnvelope(encodedPayment(payment))
  return { envelope, exact: decodeExactPayload(envelope.payload) }
}

describe('terms', () => {
  test('are found by network, in the words of each version', async () => {
    for (const version of [1, 2] as const) {
      for (const network of [base, baseSepolia]) {
        const { envelope } = await decoded({ version, network })
        expect(requirementFor(envelope, requirements)).toMatchObject({
          method: { network: network.network },
        })
      }
    }
  })

  property.prop(
    [fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).filter((amount) => amount !== 20_000n)],
    {
      numRuns: 20,
    },
  )('are never met by another amount', async (amount) => {
    for (const version of [1, 2] as const) {
      const { envelope, exact } = await decoded({ amount, version })
      const requirement = requirementFor(envelope, requirements)
      if ('reason' in requirement) throw new Error(requirement.reason)
      expect(
        checkAccepted(envelope, requirement) ??
          checkAuthorization(exact.authorization, requirement),
      ).not.toBeNull()
    }
  })
})

describe('the window', () => {
  test.each([
    { validBefore: NOW + 5n, validAfter: 0n, field: 'authorization.validBefore' },
    { validBefore: NOW + 6n, validAfter: 0n, field: undefined },
    { validBefore: NOW + 86_400n, validAfter: 0n, field: undefined },
    { validBefore: NOW + 86_401n, validAfter: 0n, field: 'authorization.validBefore' },
    { validBefore: NOW + 60n, validAfter: NOW + 5n, field: undefined },
    { validBefore: NOW + 60n, validAfter: NOW + 6n, field: 'authorization.validAfter' },
  ])('$validBefore after $validAfter: $field', async ({ validBefore, validAfter, field }) => {
    const { exact } = await decoded()
    const authorization = { ...exact.authorization, validBefore, validAfter }
    expect(checkWindow(authorization, NOW_MS)?.field).toBe(field)
  })
})
