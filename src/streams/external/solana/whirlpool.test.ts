import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mutatedBytes } from './testing/mutated-bytes.ts'
import { readWhirlpool, whirlpoolPrice, whirlpoolReserveB } from './whirlpool.ts'
import { WHIRLPOOL_PROGRAM } from './whirlpool-pairs.ts'

/** The pool of SOL/USDC as mainnet had it in June 2026; what follows is empty. */
const SOL_USDC = accountOf(
  'P5XRDOGAYwkT5EH4ORPKaLBjT7Al/eqohzfoQRDRJV41ezN33e4czf8EAAQAkAEUBceq8S8UcwIAAAAAAAAAAABZntuk' +
    'YcJDRQAAAAAAAAAA3Zn//1gmDgMAAAAA4RyjAQAAAAAGm4hX/quBhPtof2NGGMA12sQ53BrrO1WYoPAAAAAAAchN8kM4' +
    'mDvkqFswl7r0C8lXEQjSiawAs2jfF11Edc963YxkRuWoRbEAAAAAAAAAAMb6evO+2606PWXzaqvJdDGxu+TC0vbg5Hym' +
    'AgNFL11hFl+VcsWpaqUC3VEQVKJqbSWO98HW1sGu4SkZFNxRAjJJkqOU0xHwFgAAAAAAAAAAmHY5agAAAAA=',
)

describe('whirlpool', () => {
  test('is read as the explorers show it', () => {
    expect(readWhirlpool(SOL_USDC)).toEqual({
      tickSpacing: 4,
      feeRate: 400,
      liquidity: 689_480_494_328_519n,
      sqrtPriceX64: 4_991_046_536_690_114_137n,
      mintA: 'So11111111111111111111111111111111111111112',
      mintB: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      vaultB: '2WLWEuKDgkDUccTpbwYp1GToYktiSB1cXvreHUwiSUVP',
    })
  })

  test('has the price and the depth that exact arithmetic gives', () => {
    const pool = readWhirlpool(SOL_USDC)
    if (pool === null) throw new Error('no pool')
    const { sqrtPriceX64: root, liquidity } = pool
    // Nine decimals of SOL, six of USDC; to 15 places behind the point.
    const exactPrice = (root * root * 10n ** 18n) >> 128n
    const exactReserve = (liquidity * root * 10n ** 6n) >> 64n
    expect(whirlpoolPrice(pool, 9, 6)).toBeCloseTo(Number(exactPrice) / 1e15, 9)
    expect(whirlpoolPrice(pool, 9, 6)).toBeCloseTo(73.2, 1)
    expect(whirlpoolReserveB(pool, 6)).toBeCloseTo(Number(exactReserve) / 1e12, 3)
  })

  test('a swap moves the price by twice its share of the reserve', () => {
    const pool = readWhirlpool(SOL_USDC)
    if (pool === null) throw new Error('no pool')
    const paid = 10_000
    // A deposit of B within one range: the root of the price rises by the amount over the liquidity.
    const risen = pool.sqrtPriceX64 + (BigInt(paid * 1e6) << 64n) / pool.liquidity
    const before = whirlpoolPrice(pool, 9, 6)
    const after = whirlpoolPrice({ ...pool, sqrtPriceX64: risen }, 9, 6)
    expect(after / before - 1).toBeCloseTo((2 * paid) / whirlpoolReserveB(pool, 6), 5)
  })

  test.each([
    [
      'of another program',
      (): Changed => ({ owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' }),
    ],
    ['that is another type', () => changedAt(0, 0)],
    ['that is a byte longer', () => ({ data: Buffer.concat([SOL_USDC.data, Buffer.of(0)]) })],
    ['that is a byte short', () => ({ data: SOL_USDC.data.subarray(1) })],
    ['that is empty', () => ({ data: Buffer.of() })],
    ['whose tick is that of another price', () => changedAt(82, 0)],
    ['whose price is none', () => changedAt(80, 255)],
  ])('an account %s is no pool', (_what, change) => {
    expect(readWhirlpool({ ...SOL_USDC, ...change() })).toBeNull()
  })

  property.prop([mutatedBytes(SOL_USDC.data)])(
    'mutated data give a pool whose price matches its tick, or null',
    (data) => {
      const pool = readWhirlpool({ ...SOL_USDC, data })
      if (pool === null) return
      const price = whirlpoolPrice(pool, 0, 0)
      const tick = data.readInt32LE(81)
      expect(price / 1.0001 ** tick).toBeGreaterThan(1.0001 ** -3)
      expect(price / 1.0001 ** tick).toBeLessThan(1.0001 ** 3)
      expect(whirlpoolReserveB(pool, 0)).toBeGreaterThanOrEqual(0)
    },
  )

  property.prop([fc.uint8Array({ minLength: 653, maxLength: 653 })])(
    'noise is no pool',
    (noise) => {
      expect(readWhirlpool({ ...SOL_USDC, data: Buffer.from(noise) })).toBeNull()
    },
  )
})

type Changed = Partial<typeof SOL_USDC>

function changedAt(at: number, byte: number): Changed {
  const data = Buffer.from(SOL_USDC.data)
  data[at] = byte
  return { data }
}

function accountOf(base64: string) {
  const data = Buffer.alloc(653)
  data.set(Buffer.from(base64, 'base64'))
  return { owner: WHIRLPOOL_PROGRAM, data }
}
