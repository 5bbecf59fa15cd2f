import { fc, test as property } from '@fast-check/vitest'
import type { Hex } from 'viem'
import { hashTypedData, recoverTypedDataAddress, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import { newBuyer, signedPayload } from '../testing/buyer.ts'
import { directly } from '../testing/directly.ts'
import { authorizationDigest } from './authorization-digest.ts'
import { ContractWallets } from './contract-wallets.ts'
import type { Authorization } from './exact-payload.ts'
import { decodeExactPayload } from './exact-payload.ts'
import { keyRecovery, nativeRecovery, wasmRecovery } from './key-recovery.ts'
import type { PaymentNetwork } from './networks.ts'
import { base, baseSepolia } from './networks.ts'
import { nodeClient } from './node-client.ts'
import { checkSignature } from './signature.ts'
import { signerOf } from './signer.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const UINT256_MAX = 2n ** 256n - 1n
const recoveries = [nativeRecovery(), wasmRecovery()]
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The same question to viem, whose encoder knows nothing of this type. */
function typedData({ domain, chainId, asset }: PaymentNetwork, message: Authorization) {
  const whole = { ...domain, chainId, verifyingContract: asset }
  return { domain: whole, types, primaryType: 'TransferWithAuthorization', message } as const
}

async function signed(network = base) {
  const { payload } = await signedPayload(newBuyer(), {
    amount: 20_000n,
    payTo: '0x00000000000000000000000000000000000000A1',
    nowMs: Date.UTC(2026, 0, 1),
    network,
  })
  return decodeExactPayload(payload)
}

const judges = (network = base) => ({
  digest: authorizationDigest(network),
  contractWallets: null,
})

const bytes = (count: number) =>
  fc.uint8Array({ minLength: count, maxLength: count }).map((value) => toHex(value))
const word = fc.bigInt({ min: 0n, max: UINT256_MAX })
const edges = [0n, 1n, ORDER / 2n, ORDER / 2n + 1n, ORDER - 1n, ORDER, ORDER + 1n, UINT256_MAX]
const half = fc.oneof(word, fc.constantFrom(...edges))

test('the native library checks signatures on this platform', () => {
  expect(keyRecovery.name).toBe('native')
})

describe('what is signed', () => {
  property.prop([
    fc.record({
      from: bytes(20),
      to: bytes(20),
      value: word,
      validAfter: word,
      validBefore: word,
      nonce: bytes(32),
    }),
    fc.constantFrom(base, baseSepolia),
  ])('is what viem makes of it', (message, network) => {
    expect(toHex(authorizationDigest(network)(message))).toBe(
      hashTypedData(typedData(network, message)),
    )
  })
})

describe.each(recoveries)('the signer, by the $name library', (recovery) => {
  /** Viem's answer, under the restrictions of the token, which viem does not have. */
  async function byViem(message: Authorization, signature: Hex): Promise<string | null> {
    const s = BigInt(`0x${signature.slice(66, 130)}`)
    const v = Number.parseInt(signature.slice(130), 16)
    if (s > ORDER / 2n || (v !== 27 && v !== 28)) return null
    try {
      const answer = await recoverTypedDataAddress({ ...typedData(base, message), signature })
      return answer.toLowerCase()
    } catch {
      return null
    }
  }

  async function agrees(message: Authorization, signature: Hex): Promise<string | null> {
    const signer = signerOf(authorizationDigest(base)(message), signature, recovery)
    expect(signer).toBe(await byViem(message, signature))
    return signer
  }

  test('of a right signature is the payer', async () => {
    const { authorization, signature } = await signed()
    expect(await agrees(authorization, signature)).toBe(authorization.from.toLowerCase())
  })

  property.prop([half, half, fc.constantFrom(0, 1, 26, 27, 28, 29, 255)], { numRuns: 60 })(
    'of anything is whom viem names',
    async (r, s, v) => {
      const { authorization } = await signed()
      const [left, right, end] = [toHex(r, { size: 32 }), toHex(s, { size: 32 }), toHex(v)]
      await agrees(authorization, `${left}${right.slice(2)}${end.slice(2).padStart(2, '0')}`)
    },
  )

  property.prop([fc.nat(129), fc.integer({ min: 1, max: 15 })], { numRuns: 40 })(
    'of a signature with one digit changed is whom viem names, and not the payer',
    async (position, by) => {
      const { authorization, signature } = await signed()
      const digits = [...signature.slice(2)]
      digits[position] = ((Number.parseInt(digits[position] ?? '0', 16) + by) % 16).toString(16)
      const changed: Hex = `0x${digits.join('')}`
      expect(await agrees(authorization, changed)).not.toBe(authorization.from.toLowerCase())
    },
  )

  test('of the malleated twin is nobody, as for the token', async () => {
    const { authorization, signature } = await signed()
    const s = toHex(ORDER - BigInt(`0x${signature.slice(66, 130)}`), { size: 32 }).slice(2)
    const twin: Hex = `0x${signature.slice(2, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
    expect(await agrees(authorization, twin)).toBeNull()
  })

  test.each([
    { what: 'r', digits: '0'.repeat(64), at: 2 },
    { what: 'r', digits: ORDER.toString(16), at: 2 },
    { what: 's', digits: '0'.repeat(64), at: 66 },
    { what: 's', digits: ORDER.toString(16), at: 66 },
  ])('of $what = $digits is nobody', async ({ digits, at }) => {
    const { authorization, signature } = await signed()
    const changed: Hex = `0x${(signature.slice(0, at) + digits + signature.slice(at + 64)).slice(2)}`
    expect(await agrees(authorization, changed)).toBeNull()
  })
})

describe('a signature', () => {
  test('of the payer is right on its own network only', async () => {
    const exact = await signed()
    expect(await checkSignature(exact, judges(), directly)).toBeNull()
    expect(await checkSignature(exact, judges(baseSepolia), directly)).toMatchObject({
      reason: 'invalid_exact_evm_payload_signature',
      field: 'authorization.from',
    })
  })

  test.each(['00', '01', '1d', 'ff'])('with a recovery value of %s is refused', async (v) => {
    const exact = await signed()
    const signature: Hex = `0x${exact.signature.slice(2, -2)}${v}`
    expect(await checkSignature({ ...exact, signature }, judges(), directly)).not.toBeNull()
  })

  test('of a contract is refused with a hint where no node can be asked', async () => {
    const exact = await signed()
    const signature: Hex = `${exact.signature}00`
    const { hint } = (await checkSignature({ ...exact, signature }, judges(), directly)) ?? {}
    expect(hint).toMatch(/contract signatures cannot be checked/)
  })

  test('of a wallet that is not deployed is refused with a hint, and nobody is asked', async () => {
    const exact = await signed()
    const signature: Hex = `0x${exact.signature.slice(2)}${'6492'.repeat(16)}`
    const contractWallets = new ContractWallets(nodeClient(base, 'http://127.0.0.1:1'))
    const { hint } =
      (await checkSignature({ ...exact, signature }, { ...judges(), contractWallets }, directly)) ??
      {}
    expect(hint).toMatch(/Deploy the wallet first/)
  })

  test('that only a contract could explain is nobody’s fault while the node is away', async () => {
    const exact = await signed()
    const signature: Hex = `${exact.signature}00`
    const contractWallets = new ContractWallets(nodeClient(base, 'http://127.0.0.1:1'))
    const asked = checkSignature(
      { ...exact, signature },
      { ...judges(), contractWallets },
      directly,
    )
    await expect(asked).rejects.toThrow(OperatingError)
  })
})
