import { describe, expect, test } from 'vitest'
import { TickerIndex } from './listing.ts'

describe('ticker index', () => {
  const index = new TickerIndex(['BTC', 'kPEPE', 'kBONK', 'BONK'])

  test.each(['BTC', 'btc', 'Btc', 'BTC-PERP', 'btc-usd'])('%s is BTC', (ticker) => {
    expect(index.resolve(ticker)).toEqual({ coin: 'BTC' })
  })

  test.each(['kPEPE', 'KPEPE', 'kpepe', 'kPEPE-PERP'])('%s is kPEPE, by its own name', (ticker) => {
    expect(index.resolve(ticker)).toEqual({ coin: 'kPEPE' })
  })

  test('the plain token finds the coin that is quoted in thousands, and says so', () => {
    expect(index.resolve('pepe')).toEqual({ coin: 'kPEPE', unitMultiplier: 1000 })
  })

  test('a token that is listed itself is never taken for the scaled one', () => {
    expect(index.resolve('BONK')).toEqual({ coin: 'BONK' })
  })

  test.each(['', 'ETH', 'k', 'BTC-EUR', '-PERP', '__proto__', 'constructor'])(
    '%j is nothing',
    (ticker) => {
      expect(index.resolve(ticker)).toBeUndefined()
    },
  )
})
