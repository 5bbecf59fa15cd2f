import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { decodeSpotPrices, PAIR_NOTIONAL_USD_MIN } from './spot-prices.ts'

const tokens = ['USDC', 'PURR', 'USDE', 'USDH'].map((name, index) => ({ name, index }))
const universe = [
  { name: 'PURR/USDC', tokens: [1, 0], index: 0 },
  { name: '@150', tokens: [2, 0], index: 150 },
  { name: '@151', tokens: [2, 3], index: 151 },
]

function context(coin: string, px: string | null, given: object = {}) {
  return { coin, midPx: px, markPx: px ?? '0.9', dayNtlVlm: '2000000.0', ...given }
}

function priceOfUsde(contexts: readonly unknown[], pairs: readonly unknown[] = universe) {
  const reply = decodeSpotPrices(JSON.stringify([{ tokens, universe: pairs }, contexts]))
  if (reply.kind === 'rejected') return reply.reason
  return reply.tokens.find(({ token }) => token === 2)
}

describe('the reply to spotMetaAndAssetCtxs', () => {
  test('gives the mid of the pair against USDC, joined by name and not by place', () => {
    const contexts = [context('@151', '1.1'), context('@150', '0.9'), context('PURR/USDC', '0.2')]
    expect(priceOfUsde(contexts)).toEqual({
      token: 2,
      name: 'USDE',
      usdcPrice: 0.9,
      dayNotionalUsd: 2e6,
    })
  })

  test.each([
    [
      'a pair that hardly trades',
      context('@150', '0.9', { dayNtlVlm: `${PAIR_NOTIONAL_USD_MIN - 1}` }),
    ],
    ['a one-sided book', context('@150', null)],
    ['a mid that contradicts the mark', context('@150', '0.9', { markPx: '1.0' })],
    ['no mark', context('@150', '0.9', { markPx: 'x' })],
  ])('%s gives no price', (_what, row) => {
    expect(priceOfUsde([row])).toMatchObject({ name: 'USDE', usdcPrice: null })
  })

  test('a token without a pair against USDC has a name and no price', () => {
    expect(priceOfUsde([context('@151', '1.1')])).toEqual({
      token: 2,
      name: 'USDE',
      usdcPrice: null,
      dayNotionalUsd: 0,
    })
  })

  test('of two pairs the more traded one counts', () => {
    const pairs = [...universe, { name: '@152', tokens: [2, 0], index: 152 }]
    const contexts = [context('@150', '0.5', { dayNtlVlm: '200000' }), context('@152', '0.9')]
    expect(priceOfUsde(contexts, pairs)).toMatchObject({ usdcPrice: 0.9 })
  })

  property.prop([fc.string()])('whatever comes is no exception', (body) => {
    expect(['spot', 'rejected']).toContain(decodeSpotPrices(body).kind)
  })

  property.prop([fc.json()])('nor is any JSON', (one) => {
    const reply = decodeSpotPrices(`[{"tokens":[${one}],"universe":[${one}]},[${one}]]`)
    expect(['spot', 'rejected']).toContain(reply.kind)
  })
})
