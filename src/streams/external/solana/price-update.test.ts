import { test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { readPriceUpdate } from './price-update.ts'
import { mutatedBytes } from './testing/mutated-bytes.ts'

const SOL_ID = 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'
const BTC_ID = 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'

/** The upgraded account of SOL on mainnet at slot 447,956,907: full verification, one byte. */
const FULL = {
  owner: 'rec2HHDDnjLfj4kE7VyEtFA1HPGQLK33259532cRyHp',
  data: Buffer.from(
    'IvEjY51+9M1bsRWwDdII6qyfKmvtWLaGyH3c9S5trfFYcCJDMhaezQHvDYtv2izrpB2hXUCV0do5Kg0vjtDGx7wPTPrI' +
      'woC1bT3RgGMCAAAANSAVAAAAAAD4////OqWsagAAAAA5paxqAAAAAKiftGACAAAABVkZAAAAAACdR7MaAAAAAAA=',
    'base64',
  ),
}
/** The same with partial verification by five signatures: the level has two bytes. */
const PARTIAL = {
  ...FULL,
  data: Buffer.concat([FULL.data.subarray(0, 40), Buffer.of(0, 5), FULL.data.subarray(41, 133)]),
}
const expected = {
  price: { priceUsd: 102.59321149, confidenceUsd: 0.01384501 },
  ema: { priceUsd: 102.1238468, confidenceUsd: 0.01661189 },
  publishTimeMs: 1_789_699_386_000,
}

describe('price update', () => {
  test.each([
    ['full', FULL],
    ['partial', PARTIAL],
  ])('is read with %s verification', (_by, account) => {
    expect(account.data).toHaveLength(134)
    expect(readPriceUpdate(account, SOL_ID)).toEqual(expected)
  })

  test('of another feed is null', () => {
    expect(readPriceUpdate(FULL, BTC_ID)).toBeNull()
  })

  test('of another account type is null', () => {
    const data = Buffer.from(FULL.data)
    data[0] = 0
    expect(readPriceUpdate({ ...FULL, data }, SOL_ID)).toBeNull()
  })

  test.each([0, 40, 72, 73, 132])('of %i bytes is null', (length) => {
    expect(readPriceUpdate({ ...FULL, data: FULL.data.subarray(0, length) }, SOL_ID)).toBeNull()
  })

  test('with an exponent below -18 is null', () => {
    const data = Buffer.from(FULL.data)
    data.writeInt32LE(-200, 89)
    expect(readPriceUpdate({ ...FULL, data }, SOL_ID)).toBeNull()
  })

  property.prop([mutatedBytes(FULL.data)])('mutated data give finite numbers or null', (data) => {
    const update = readPriceUpdate({ ...FULL, data }, SOL_ID)
    if (update !== null)
      for (const value of [update.publishTimeMs, ...Object.values(update.price)])
        expect(Number.isFinite(value)).toBe(true)
  })
})
