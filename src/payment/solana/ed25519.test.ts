import { fc, test as property } from '@fast-check/vitest'
import { createKeyPairSignerFromPrivateKeyBytes, getAddressDecoder } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import { ed25519Key, isSignedBy } from './ed25519.ts'

describe('a key', () => {
  // RFC 8032, 7.1, test 2.
  test('signs as the standard says', () => {
    const seed = Buffer.from(
      '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
      'hex',
    )
    const key = ed25519Key(seed)
    expect(Buffer.from(key.publicKey).toString('hex')).toBe(
      '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    )
    expect(Buffer.from(key.sign(Buffer.of(0x72))).toString('hex')).toBe(
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    )
  })

  property.prop([fc.uint8Array({ minLength: 32, maxLength: 32 })])(
    'is the one that wallets make of the same seed',
    async (seed) => {
      const wallet = await createKeyPairSignerFromPrivateKeyBytes(seed)
      expect(getAddressDecoder().decode(ed25519Key(seed).publicKey)).toBe(wallet.address)
    },
  )
})

describe('a signature', () => {
  const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
  property.prop([seeds, fc.uint8Array(), fc.nat({ max: 511 })])(
    'fits its message and no longer with a bit of it changed',
    (seed, message, bit) => {
      const key = ed25519Key(seed)
      const signature = Buffer.from(key.sign(message))
      expect(isSignedBy(key.publicKey, message, signature)).toBe(true)
      const at = bit >> 3
      signature.writeUInt8(signature.readUInt8(at) ^ (1 << (bit & 7)), at)
      expect(isSignedBy(key.publicKey, message, signature)).toBe(false)
    },
  )

  test('by a key of small order is none, though it fits every message', () => {
    // The neutral element as key and as nonce, with s = 0: the equation holds for whatever was signed.
    const neutral = Buffer.alloc(32)
    neutral.writeUInt8(1, 0)
    const signature = Buffer.concat([neutral, Buffer.alloc(32)])
    expect(isSignedBy(neutral, Buffer.from('anything'), signature)).toBe(false)
  })

  test('with a second spelling of s is none', () => {
    const key = ed25519Key(Buffer.alloc(32, 7))
    const message = Buffer.from('message')
    const signature = Buffer.from(key.sign(message))
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + order
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse().copy(signature, 32)
    expect(isSignedBy(key.publicKey, message, signature)).toBe(false)
  })

  test('by bytes that are no key is none', () => {
    expect(isSignedBy(Buffer.alloc(32, 2), Buffer.from('x'), Buffer.alloc(64, 1))).toBe(false)
  })
})
