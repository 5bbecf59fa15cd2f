import { fc, test as property } from '@fast-check/vitest'
import type { Hex } from 'viem'
import { toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeEnvelope } from '../payload.ts'
import { checkAccepted, requirementFor } from '../requirement.ts'
import { termsOf } from '../terms.ts'
import type { PaymentChoices } from '../testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../testing/buyer.ts'
import { checkAuthorization, checkSignature, checkWindow } from './authorization.ts'
import { exactEvm } from './exact-evm.ts'
import { decodeExactPayload } from './exact-payload.ts'
import { base, baseSepolia } from './networks.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const NOW = BigInt(NOW_MS / 1_000)
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
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

describe('the signature', () => {
  test('of the payer is right on its own network only', async () => {
    const { exact } = await decoded()
    expect(await checkSignature(exact, base)).toBeNull()
    expect(await checkSignature(exact, baseSepolia)).toMatchObject({
      reason: 'invalid_exact_evm_payload_signature',
    })
  })

  test('is refused in its malleated form, as the token does', async () => {
    const { exact } = await decoded()
    const { signature } = exact
    const s = toHex(ORDER - BigInt(`0x${signature.slice(66, 130)}`), { size: 32 }).slice(2)
    const v = signature.endsWith('1b') ? '1c' : '1b'
    const twin: Hex = `0x${signature.slice(2, 66)}${s}${v}`
    expect(await checkSignature({ ...exact, signature: twin }, base)).not.toBeNull()
  })

  test.each(['00', '01', '1d', 'ff'])('is refused with a recovery value of %s', async (v) => {
    const { exact } = await decoded()
    const signature: Hex = `0x${exact.signature.slice(2, -2)}${v}`
    expect(await checkSignature({ ...exact, signature }, base)).not.toBeNull()
  })

  property.prop([fc.integer({ min: 0, max: 129 }), fc.integer({ min: 1, max: 15 })], {
    numRuns: 30,
  })('is never right after any one of its digits was changed', async (position, by) => {
    const { exact } = await decoded()
    const digits = [...exact.signature.slice(2)]
    digits[position] = ((Number.parseInt(digits[position] ?? '0', 16) + by) % 16).toString(16)
    const signature: Hex = `0x${digits.join('')}`
    expect(await checkSignature({ ...exact, signature }, base)).not.toBeNull()
  })
})
