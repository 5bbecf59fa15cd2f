import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TickerIndex, tickerName } from './listing.ts'

const UNIVERSE = join(
  import.meta.dirname,
  '../../../shared/data/hl-api-fixtures/meta-and-asset-ctxs-2026-05.json',
)
const pairOf = [
  (coin: string) => `${coin}-PERP`,
  (coin: string) => `${coin}USDT`,
  (coin: string) => `${coin}USDC`,
  (coin: string) => `${coin}USD`,
  (coin: string) => `${coin}-USD`,
  (coin: string) => `${coin}-USDC`,
  (coin: string) => `${coin}/USDC`,
  (coin: string) => `${coin}_USDT`,
  (coin: string) => `${coin}:USDC`,
  (coin: string) => `${coin}/USDC:USDC`,
  (coin: string) => `${coin}-USDT-SWAP`,
]

describe('ticker index', () => {
  const index = new TickerIndex(['BTC', 'kPEPE', 'kBONK', 'BONK'])

  test.each(['BTC', 'btc', 'Btc', 'BTC-PERP', 'btc-usd'])('%s is BTC', (ticker) => {
    expect(index.resolve(ticker)).toEqual({ coin: 'BTC' })
  })

  test.each(pairOf.map((pair) => pair('BTC')))('%s is BTC', (ticker) => {
    expect(index.resolve(ticker)).toEqual({ coin: 'BTC' })
    expect(index.resolve(ticker.toLowerCase())).toEqual({ coin: 'BTC' })
  })

  test('a pair of the plain token is the coin that is quoted in thousands', () => {
    expect(index.resolve('PEPEUSDT')).toEqual({ coin: 'kPEPE', unitMultiplier: 1000 })
  })

  test('a name that is listed means itself, also where it ends like a pair', () => {
    const coins = [
      'S',
      'SUSD',
      'USDT',
      'USDC',
      'FOO',
      'FOO-USD',
      'FOO-PERP',
      'kAUSD',
      'A',
      'dex:USD',
    ]
    const listed = new TickerIndex(coins)
    for (const coin of coins) expect(listed.resolve(coin)).toEqual({ coin })
    expect(listed.resolve('susd')).toEqual({ coin: 'SUSD' })
    expect(listed.resolve('SUSDT')).toEqual({ coin: 'S' })
    expect(listed.resolve('SUSDUSDT')).toEqual({ coin: 'SUSD' })
    expect(listed.resolve('AUSD'), 'a token in thousands').toMatchObject({ coin: 'kAUSD' })
    expect(new TickerIndex(['TUSD']).resolve('T'), 'nothing is added').toBeUndefined()
  })

  test('of any list, each coin means itself', () => {
    const part = fc.constantFrom('A', 'k', 'B1', 'USD', 'USDT', 'USDC', 'PERP', '-', ':', '/', '_')
    const name = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { selector: (coin) => coin.toUpperCase(), maxLength: 12 }),
        (coins) => {
          const any = new TickerIndex(coins)
          for (const coin of coins)
            for (const ticker of [coin, coin.toLowerCase()])
              expect(any.resolve(ticker)).toEqual({ coin })
        },
      ),
    )
  })

  test.skipIf(!existsSync(UNIVERSE))(
    'of the real list, each coin and its pairs mean the coin, by one name of its own (needs ../shared/data)',
    () => {
      const [{ universe }] = JSON.parse(readFileSync(UNIVERSE, 'utf8')) as [
        { universe: { name: string }[] },
      ]
      const coins = universe.map(({ name }) => name)
      expect(coins.length).toBeGreaterThan(200)
      const real = new TickerIndex(coins)
      for (const coin of coins)
        for (const ticker of [coin, ...pairOf.map((pair) => pair(coin))]) {
          expect(real.resolve(ticker), ticker).toEqual({ coin })
          expect(tickerName(ticker), ticker).toBe(coin.toUpperCase())
        }
    },
  )

  test.each(['kPEPE', 'KPEPE', 'kpepe', 'kPEPE-PERP'])('%s is kPEPE, by its own name', (ticker) => {
    expect(index.resolve(ticker)).toEqual({ coin: 'kPEPE' })
  })

  test('the plain token finds the coin that is quoted in thousands, and says so', () => {
    expect(index.resolve('pepe')).toEqual({ coin: 'kPEPE', unitMultiplier: 1000 })
  })

  test('a token that is listed itself is never taken for the scaled one', () => {
    expect(index.resolve('BONK')).toEqual({ coin: 'BONK' })
  })

  test.each([
    '',
    'ETH',
    'k',
    'BTC-EUR',
    '-PERP',
    'USDT',
    '/USDC',
    'BTCEUR',
    'BTC/USDC/X',
    '__proto__',
    'constructor',
  ])('%j is nothing', (ticker) => {
    expect(index.resolve(ticker)).toBeUndefined()
  })
})
