import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { binance } from './binance.ts'
import { bybit } from './bybit.ts'
import { coinbase } from './coinbase.ts'
import { kraken } from './kraken.ts'
import { okx } from './okx.ts'
import { ASSETS_MAX, productsOf } from './products.ts'

const all = [coinbase, kraken, binance, okx, bybit]

function named({ naming }: (typeof all)[number], assets: readonly string[]) {
  return productsOf(naming, assets).map(({ product }) => product)
}

describe('the products of', () => {
  test.each([
    [coinbase, ['USDT-USD', 'BTC-USD', 'PEPE-USD']],
    [kraken, ['USDT/USD', 'USDC/USD', 'USDC/USDT', 'BTC/USD', 'PEPE/USD', 'BTC/USDC']],
    [binance, ['USDCUSDT', 'BTCUSDT', 'PEPEUSDT', 'BTCUSDC']],
    [okx, ['USDC-USDT', 'BTC-USDT', 'PEPE-USDT', 'BTC-USDC']],
    [bybit, ['USDCUSDT', 'BTCUSDT', 'PEPEUSDT', 'BTCUSDC']],
  ])(
    '$exchange: stablecoins first, then what the venue trades, then its books in USDC',
    (protocol, expected) => {
      expect(named(protocol, ['BTC', 'PEPE'])).toEqual(expected)
    },
  )

  test('stablecoin pairs only, while the list of the venue is not known', () => {
    expect(all.map((protocol) => named(protocol, []).length)).toEqual([1, 3, 1, 1, 1])
  })
})

describe('a name that is not the asset’s', () => {
  test.each([
    [coinbase, 'CELO', 'CGLD-USD', 1],
    [kraken, 'LUNC', 'LUNA/USD', 1],
    [kraken, 'LUNA', 'LUNA2/USD', 1],
    [binance, 'SATS', '1000SATSUSDT', 1_000],
    [binance, 'CAT', '1000CATUSDT', 1_000],
    [binance, 'BABYDOGE', '1MBABYDOGEUSDT', 1_000_000],
    [binance, 'EOS', 'AUSDT', 1],
    [bybit, 'NEIRO', 'NEIROCTOUSDT', 1],
    [binance, 'NEIRO', 'NEIROUSDT', 1],
    [binance, 'SHIB', 'SHIBUSDT', 1],
  ])('$exchange: %s', (protocol, asset, product, scale) => {
    expect(productsOf(protocol.naming, [asset])).toContainEqual(
      expect.objectContaining({ product, asset, scale }),
    )
  })
})

describe('the choice', () => {
  const many = Array.from({ length: 300 }, (_, index) => `C${index}`)

  test('ends at sixty assets, in the venue’s order', () => {
    const chosen = named(binance, many)
    expect(chosen).toHaveLength(1 + ASSETS_MAX)
    expect(chosen.slice(1, 4)).toEqual(['C0USDT', 'C1USDT', 'C2USDT'])
  })

  test('has the majors that the venue listed late', () => {
    const chosen = named(okx, ['BTC', 'ETH', ...many, 'HYPE', 'ZEC'])
    expect(chosen).toEqual(expect.arrayContaining(['HYPE-USDT', 'ZEC-USDT', 'BTC-USDC']))
    expect(chosen.indexOf('HYPE-USDT')).toBeGreaterThan(chosen.indexOf('C5-USDT'))
  })

  const ticker = fc.stringMatching(/^[A-Z0-9]{1,8}$/)
  test.prop([fc.array(ticker, { maxLength: 200 }), fc.constantFrom(...all)])(
    'names each product once, and is the same again',
    (assets, protocol) => {
      const chosen = named(protocol, assets)
      expect(new Set(chosen).size).toBe(chosen.length)
      expect(named(protocol, assets)).toEqual(chosen)
    },
  )
})
