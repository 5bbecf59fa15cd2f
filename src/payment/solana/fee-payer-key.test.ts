import { getBase58Decoder } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import { readFeePayer } from './fee-payer-key.ts'

// RFC 8032, 7.1, test 1.
const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex')
const publicKey = Buffer.from(
  'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  'hex',
)
const pair = Buffer.concat([seed, publicKey])
const base58 = (bytes: Uint8Array) => getBase58Decoder().decode(bytes)

describe('the key of who pays the fees', () => {
  test.each([
    ['the JSON of a key file', JSON.stringify([...pair])],
    ['a JSON list of its seed', JSON.stringify([...seed])],
    ['base58, as wallets export it', base58(pair)],
    ['base58 of its seed', ` ${base58(seed)}\n`],
  ])('is read from %s', (_form, text) => {
    expect(readFeePayer(text).address).toBe(base58(publicKey))
  })

  test.each([
    ['nothing', ''],
    ['a list that is too short', '[1,2,3]'],
    ['a list of other things', JSON.stringify([...pair].map((byte) => byte + 0.5))],
    ['a list that does not end', '[1,2'],
    ['hexadecimal', `0x${seed.toString('hex')}`],
    ['an address with a character too many', `${base58(pair)}1`],
    ['a pair that does not belong together', base58(Buffer.concat([seed, seed]))],
  ])('is not read from %s, and the message does not repeat it', (_form, text) => {
    expect(() => readFeePayer(text)).toThrow(RangeError)
    expect(() => readFeePayer(text)).toThrow(
      expect.objectContaining({
        message: expect.not.stringMatching(
          new RegExp(text.slice(0, 12).replace('[', '\\[') || '$^'),
        ),
      }),
    )
  })
})
