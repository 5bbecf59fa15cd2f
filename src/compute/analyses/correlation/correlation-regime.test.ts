import { describe, expect, test } from 'vitest'
import { sectorOf, sectors } from '../../../domain/sectors.ts'
import { correlationRegime } from './correlation-regime.ts'

describe('regime of correlation', () => {
  test.each([
    [0.701, 'CORRELATED'],
    [0.7, 'MIXED'],
    [0.3, 'MIXED'],
    [0.299, 'DECORRELATED'],
    [-0.5, 'DECORRELATED'],
  ])('an average of %f is %s', (average, regime) => {
    expect(correlationRegime(average, 8, 100)).toBe(regime)
  })

  test.each([
    [null, 50, 700],
    [0.8, 7, 700],
    [0.8, 50, 99],
  ])('average %s of %i coins over %i candles is UNKNOWN', (average, coins, candles) => {
    expect(correlationRegime(average, coins, candles)).toBe('UNKNOWN')
  })
})

describe('sectors', () => {
  test('begin with the four required sectors', () => {
    expect(sectors.slice(0, 4)).toEqual(['L1', 'L2', 'DeFi', 'Meme'])
  })

  test.each([
    ['ETH', 'L1'],
    ['ARB', 'L2'],
    ['AAVE', 'DeFi'],
    ['kPEPE', 'Meme'],
  ])('%s is in %s', (coin, sector) => {
    expect(sectorOf(coin)).toBe(sector)
  })

  test.each(['BTC', 'PEPE', 'xyz:ETH', 'NOBODY', ''])('%s is in none', (coin) => {
    expect(sectorOf(coin)).toBeUndefined()
  })
})
