import { test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { mutated } from '../testing/mutated.ts'
import { decodeSupply } from './decode.ts'

const NOW_MS = Date.UTC(2026, 10, 20)

const coin = (changes: object = {}) => ({
  id: '2',
  name: 'USD Coin',
  symbol: 'USDC',
  pegType: 'peggedUSD',
  circulating: { peggedUSD: 72_873_769_590.19 },
  circulatingPrevDay: { peggedUSD: 72_474_059_333.35 },
  circulatingPrevWeek: { peggedUSD: 72_109_792_128.78 },
  ...changes,
})
const body = (...peggedAssets: readonly unknown[]) => JSON.stringify({ peggedAssets })

describe('the supply of USDC', () => {
  test('is found by its number, among namesakes', () => {
    const namesake = coin({ id: '286', circulating: { peggedUSD: 5e6 } })
    expect(decodeSupply(body(namesake, coin()), NOW_MS)).toEqual({
      issues: [],
      events: [
        {
          kind: 'stablecoin-supply',
          asset: 'USDC',
          supplyUsd: 72_873_769_590.19,
          dayAgoUsd: 72_474_059_333.35,
          weekAgoUsd: 72_109_792_128.78,
          timeExchangeMs: NOW_MS,
          timeReceivedMs: NOW_MS,
        },
      ],
    })
  })

  test.each([
    ['missing', undefined],
    ['empty', {}],
    ['zero', { peggedUSD: 0 }],
    ['in another currency', { peggedEUR: 7e10 }],
    ['text', { peggedUSD: '72474059333' }],
    ['in thousands', { peggedUSD: 72_474_059 }],
  ])('stands when that of the day before is %s', (_, circulatingPrevDay) => {
    expect(decodeSupply(body(coin({ circulatingPrevDay })), NOW_MS).events).toMatchObject([
      { supplyUsd: 72_873_769_590.19, dayAgoUsd: null, weekAgoUsd: 72_109_792_128.78 },
    ])
  })

  test.each([
    ['no supply', coin({ circulating: {} })],
    ['a negative supply', coin({ circulating: { peggedUSD: -7e10 } })],
    ['another symbol', coin({ symbol: 'USDT' })],
    ['another number', coin({ id: '3' })],
    ['nothing at all', null],
  ])('is unknown with %s', (_, row) => {
    expect(decodeSupply(body(row), NOW_MS)).toMatchObject({
      events: [],
      issues: [{ kind: 'undecodable' }],
    })
  })

  test.prop([mutated(body(coin()))], { numRuns: 2_000 })(
    'mangled on its way is not absurd',
    (text) => {
      for (const event of decodeSupply(text, NOW_MS).events) {
        if (event.kind !== 'stablecoin-supply') throw new Error('a supply event is expected')
        expect(event.supplyUsd).toBeGreaterThanOrEqual(1e6)
        expect(event.supplyUsd).toBeLessThanOrEqual(1e13)
        for (const before of [event.dayAgoUsd, event.weekAgoUsd])
          if (before !== null) expect(before / event.supplyUsd).toBeLessThanOrEqual(10)
      }
    },
  )
})
