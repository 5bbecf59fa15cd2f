import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { PairOrder } from './v3-price.ts'
import { isSqrtPrice, priceOf, priceOfTick, reserveQuoteOf } from './v3-price.ts'

const Q96 = 2n ** 96n
const USDC_WETH: PairOrder = { isAssetFirst: false, assetDecimals: 18, quoteDecimals: 6 }
const orders = fc.record({
  isAssetFirst: fc.boolean(),
  assetDecimals: fc.constantFrom(6, 8, 18),
  quoteDecimals: fc.constantFrom(6, 18),
})

describe('the price', () => {
  test('of WETH in the USDC pool of Ethereum, as published with its square root', () => {
    const sqrtPriceX96 = 2018382873588440326581633304624437n
    expect(priceOf(sqrtPriceX96, USDC_WETH)).toBeCloseTo(1540.82, 2)
    expect(priceOfTick(202_919, USDC_WETH)).toBeCloseTo(1540.82, 0)
  })

  test('of two tokens of 18 decimals, as on BNB', () => {
    const order = { isAssetFirst: true, assetDecimals: 18, quoteDecimals: 18 }
    expect(priceOf(46n * Q96, order)).toBe(46 ** 2)
    expect(priceOf(46n * Q96, { ...order, isAssetFirst: false })).toBeCloseTo(1 / 46 ** 2, 15)
  })

  test.prop([orders, fc.double({ min: 1e-2, max: 1e7, noNaN: true })])(
    'equals the exact rational price within the precision of a double',
    (order, price) => {
      const sqrtPriceX96 = sqrtOf(price, order)
      const { numerator, denominator } = rationalOf(sqrtPriceX96, order)
      // 40 decimal digits: far beyond what is compared.
      const exact = Number((numerator * 10n ** 40n) / denominator) / 1e40
      const computed = priceOf(sqrtPriceX96, order)
      expect(Math.abs(computed - exact)).toBeLessThanOrEqual(exact * 4e-16 + 1e-18)
      expect(computed / price).toBeCloseTo(1, 9)
    },
  )

  test.prop([orders, fc.integer({ min: -400_000, max: 400_000 })])(
    'of a tick is the one of its square root',
    (order, tick) => {
      const sqrtPriceX96 = BigInt(Math.round(1.0001 ** (tick / 2) * 2 ** 96))
      fc.pre(isSqrtPrice(sqrtPriceX96))
      const price = priceOf(sqrtPriceX96, order)
      fc.pre(price > 1e-6)
      expect((priceOfTick(tick, order) ?? 0) / price).toBeCloseTo(1, 7)
    },
  )

  test('of what no tick can be is none', () => {
    for (const tick of [Number.NaN, Number.POSITIVE_INFINITY, 887_273, -887_273])
      expect(priceOfTick(tick, USDC_WETH)).toBeNull()
  })
})

describe('the reserve', () => {
  test.prop([
    orders,
    fc.double({ min: 1e-2, max: 1e6, noNaN: true }),
    fc.double({ min: 1e5, max: 1e9, noNaN: true }),
    fc.double({ min: 1e-6, max: 0.01, noNaN: true }),
  ])('says how far a swap within the tick range moves the price', (order, price, depth, share) => {
    const sqrtPriceX96 = sqrtOf(price, order)
    const liquidity = liquidityOf(depth, sqrtPriceX96, order)
    const reserve = reserveQuoteOf(liquidity, sqrtPriceX96, order)
    expect(reserve / depth).toBeCloseTo(1, 6)
    const paid = BigInt(Math.floor(depth * share * 10 ** order.quoteDecimals))
    const moved = priceOf(afterSwap(sqrtPriceX96, liquidity, paid, order.isAssetFirst), order)
    const dy = Number(paid) / 10 ** order.quoteDecimals
    const before = priceOf(sqrtPriceX96, order)
    expect(moved / before).toBeCloseTo((1 + dy / reserve) ** 2, 8)
    const firstOrder = (2 * dy) / reserve
    expect(Math.abs(moved / before - 1 - firstOrder)).toBeLessThanOrEqual(firstOrder ** 2 + 1e-8)
  })
})

/** The swap step of the whitepaper, 6.2.3: token 1 in adds to the square root, token 0 in to its inverse. */
function afterSwap(sqrtPriceX96: bigint, liquidity: bigint, paid: bigint, isToken1In: boolean) {
  if (isToken1In) return sqrtPriceX96 + (paid * Q96) / liquidity
  return (liquidity * Q96 * sqrtPriceX96) / (liquidity * Q96 + paid * sqrtPriceX96)
}

function rationalOf(sqrtPriceX96: bigint, order: PairOrder) {
  const { isAssetFirst, assetDecimals, quoteDecimals } = order
  const [up, down] = [sqrtPriceX96 ** 2n, Q96 ** 2n]
  const [asset, quote] = [10n ** BigInt(assetDecimals), 10n ** BigInt(quoteDecimals)]
  return isAssetFirst
    ? { numerator: up * asset, denominator: down * quote }
    : { numerator: down * asset, denominator: up * quote }
}

function sqrtOf(price: number, { isAssetFirst, assetDecimals, quoteDecimals }: PairOrder): bigint {
  const raw = price * 10 ** (quoteDecimals - assetDecimals)
  return BigInt(Math.round(Math.sqrt(isAssetFirst ? raw : 1 / raw) * 2 ** 96))
}

function liquidityOf(depth: number, sqrtPriceX96: bigint, order: PairOrder): bigint {
  const raw = BigInt(Math.round(depth * 10 ** order.quoteDecimals))
  return order.isAssetFirst ? (raw * Q96) / sqrtPriceX96 : (raw * sqrtPriceX96) / Q96
}
