import fc from 'fast-check'
import type { Hex } from 'viem'
import { getAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { MalformedPayment } from '../payload.ts'
import type { ChannelPayload } from './channel-payload.ts'
import { channelPayloadHash, decodeChannelPayload, wireOfPayload } from './channel-payload.ts'

const NETWORK = 'eip155:8453'

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array): Hex => `0x${Buffer.from(array).toString('hex')}`)
const address = hex(20).map((value) => getAddress(value))
const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n })
const common = fc.record({
  config: fc.record({
    payer: address,
    payerAuthorizer: address,
    receiver: address,
    receiverAuthorizer: address,
    token: address,
    withdrawDelay: fc.integer({ min: 0, max: 2 ** 40 - 1 }),
    salt: hex(32),
  }),
  voucher: fc.record({ channelId: hex(32), cumulative: uint(128n), signature: hex(65) }),
})
const deposit = fc.record({
  amount: uint(128n),
  validAfter: uint(256n),
  validBefore: uint(256n),
  salt: hex(32),
  signature: hex(65),
})
const payload: fc.Arbitrary<ChannelPayload> = fc.oneof(
  common.map((all) => ({ ...all, kind: 'voucher' as const })),
  fc
    .tuple(common, deposit)
    .map(([all, money]) => ({ ...all, kind: 'deposit' as const, deposit: money })),
  fc
    .tuple(common, fc.option(uint(128n)))
    .map(([all, amount]) => ({ ...all, kind: 'refund' as const, amount })),
)

describe('a payload', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(payload, (one) => {
        expect(decodeChannelPayload(JSON.parse(JSON.stringify(wireOfPayload(one))))).toEqual(one)
      }),
    )
  })

  test('of any other form is malformed, never a crash', () => {
    const names = ['type', 'channelConfig', 'voucher', 'deposit', 'amount']
    fc.assert(
      fc.property(payload, fc.constantFrom(...names), fc.jsonValue(), (one, name, value) => {
        const wire = { ...wireOfPayload(one), [name]: value }
        try {
          decodeChannelPayload(wire)
        } catch (cause) {
          expect(cause).toBeInstanceOf(MalformedPayment)
        }
      }),
    )
  })
})

test('the name of a payment differs for another network, sum or signature', () => {
  fc.assert(
    fc.property(payload, (one) => {
      const { voucher } = one
      const more = { ...one, voucher: { ...voucher, cumulative: voucher.cumulative + 1n } }
      const last = voucher.signature.endsWith('0') ? '1' : '0'
      const signature: Hex = `0x${voucher.signature.slice(2, -1)}${last}`
      const names = [
        channelPayloadHash(NETWORK, one),
        channelPayloadHash('eip155:1', one),
        channelPayloadHash(NETWORK, more),
        channelPayloadHash(NETWORK, { ...one, voucher: { ...voucher, signature } }),
      ]
      expect(new Set(names).size).toBe(names.length)
    }),
  )
})
