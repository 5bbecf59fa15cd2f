import { test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { readPriceUpdate } from './price-update.ts'
import { mutatedBytes } from './testing/mutated-bytes.ts'

const SOL_ID = 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'
const BTC_ID = 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'

/** The upgraded account of SOL as mainnet had it at slot 447,956,907: verified by all, one byte. */
const FULL = {
  owner: 'rec2HHDDnjLfj4kE7VyEtFA1HPGQLK33259532cRyHp',
  data: Buffer.from(
    'IvEjY51+9M1bsRWwDdII6qyfKmvtWLaGyH3c9S5trfFYcCJDMhaezQHvDYtv2izrpB2hXUCV0do5Kg0vjtDGx7wPTPrI' +
      'woC1bT3RgGMCAAAANSAVAAAAAAD4////OqWsagAAAAA5paxqAAAAAKiftGACAAAABVkZAAAAAACdR7MaAAAAAAA=',
    'base64',
  ),
}
/** The same, as if five had signed: then that takes two bytes, and the rest lies one further. */
const PARTIAL = {
  ...FULL,
  data: Buffer.concat([FULL.data.subarray(0, 40), Buffer.of(0, 5), FULL.data.subarray(41, 133)]),
}
const expected = {
  priceUsd: 102.59321149,
  confidenceUsd: 0.01384501,
  emaPriceUsd: 102.1238468,
  emaConfidenceUsd: 0.01661189,
  publishTimeMs: 1_789_699_386_000,
}

describe('price update', () => {
  test.each([
    ['all', FULL],
    ['some', PARTIAL],
  ])('is read where it was verified by %s', (_by, account) => {
    expect(account.data).toHaveLength(134)
    expect(readPriceUpdate(account, SOL_ID)).toEqual(expected)
  })

  test('of another feed is none', () => {
    expect(readPriceUpdate(FULL, BTC_ID)).toBeNull()
  })

  test('of another type is none', () => {
    const data = Buffer.from(FULL.data)
    data[0] = 0
    expect(readPriceUpdate({ ...FULL, data }, SOL_ID)).toBeNull()
  })

  test.each([0, 40, 72, 73, 132])('of %i bytes is none', (length) => {
    expect(readPriceUpdate({ ...FULL, data: FULL.data.subarray(0, length) }, SOL_ID)).toBeNull()
  })

  test('with an exponent that no price has is none', () => {
    const data = Buffer.from(FULL.data)
    data.writeInt32LE(-200, 89)
    expect(readPriceUpdate({ ...FULL, data }, SOL_ID)).toBeNull()
  })

  property.prop([mutatedBytes(FULL.data)])(
    'whatever bytes a node sends, its numbers are numbers',
    (data) => {
      const update = readPriceUpdate({ ...FULL, data }, SOL_ID)
      if (update !== null)
        for (const value of Object.values(update)) expect(Number.isFinite(value)).toBe(true)
    },
  )
})
