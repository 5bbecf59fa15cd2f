import { describe, expect, test } from 'vitest'
import { coinBucketOf, coinBuckets, sectorOf, sectors } from './sectors.ts'

describe('the bucket of a coin', () => {
  test.each([
    ['BTC', 'Majors'],
    ['ETH', 'Majors'],
    ['ADA', 'L1'],
    ['ARB', 'L2'],
    ['AAVE', 'DeFi'],
    ['kPEPE', 'Meme'],
    ['TAO', 'AI'],
    ['LTC', 'Payments'],
    ['ZEC', 'Privacy'],
    ['LINK', 'Infrastructure'],
    ['GALA', 'Gaming'],
    ['xyz:TSLA', 'TradFi'],
    ['hyna:BTC', 'Majors'],
    ['hyna:kPEPE', 'Meme'],
    ['hyna:ZEC', 'Privacy'],
    ['SOMETHINGNEW', 'Other'],
  ])('of %s is %s', (coin, bucket) => {
    expect(coinBucketOf(coin)).toBe(bucket)
  })

  test('is one of those that answers list, in which every sector is', () => {
    expect(coinBuckets).toEqual(expect.arrayContaining([...sectors]))
    expect(new Set(coinBuckets).size).toBe(coinBuckets.length)
  })

  test('does not take a coin from its sector', () => {
    expect(sectorOf('ETH')).toBe('L1')
    expect(sectorOf('BTC')).toBeUndefined()
  })
})
