import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { similarCoins, TickerIndex, tickerName, unscaledToken } from './listing.ts'

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
  (coin: string) => `${coin}_USDC-PERPETUAL`,
  (coin: string) => `${coin}PERP`,
  (coin: string) => `${coin}-PERPETUAL`,
  (coin: string) => `${coin}.P`,
  (coin: string) => `${coin}USDT.P`,
  (coin: string) => `${coin}USDC.P`,
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

  test.each(['1000PEPE', '1000pepe', '1000PEPEUSDT', '1000PEPEUSDT.P', '1000PEPE-PERP'])(
    '%s is the same unit as kPEPE',
    (ticker) => {
      expect(index.resolve(ticker)).toEqual({ coin: 'kPEPE' })
    },
  )

  test('1000 before another name is not resolved', () => {
    const listed = new TickerIndex(['BTC', 'KAITO', 'kFOO', '1000FOO'])
    for (const ticker of ['1000BTC', '1000AITO', '1000KAITO', '1000kFOO', '100FOO', '1000'])
      expect(listed.resolve(ticker), ticker).toBeUndefined()
    expect(listed.resolve('1000FOO')).toEqual({ coin: '1000FOO' })
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
    const part = fc.constantFrom(
      ...['A', 'k', 'B1', '1000', 'USD', 'USDT', 'USDC', 'PERP', 'PERPETUAL', '.P'],
      ...['-', ':', '/', '_'],
    )
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
          const token = unscaledToken(coin)
          if (token !== undefined)
            expect(real.resolve(ticker.replace(coin, `1000${token}`)), ticker).toEqual({ coin })
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
    'PERP',
    '.P',
    'BTC.PERP',
    'BTC:PERP',
    'xyz:BTC',
    '1000BTC',
    'BTC/USDC/X',
    '__proto__',
    'constructor',
  ])('%j is nothing', (ticker) => {
    expect(index.resolve(ticker)).toBeUndefined()
  })
})

describe('suggestions for an unlisted ticker', () => {
  const coins = ['BTC', 'TSL', 'xyz:TSLA', 'flx:TSLA', 'xyz:BTC', 'TSLAX', 'ATSLA']

  test.each([
    ['TSLA', ['xyz:TSLA', 'flx:TSLA', 'TSL']],
    ['tsla-usd', ['xyz:TSLA', 'flx:TSLA', 'TSL']],
    ['BTCC', ['BTC']],
    ['ZZZZ', []],
  ])('%s: %j', (ticker, meant) => {
    expect(similarCoins(ticker, coins)).toEqual(meant)
  })

  test('are not resolved', () => {
    expect(new TickerIndex(['xyz:TSLA']).resolve('TSLA')).toBeUndefined()
  })
})
