import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { decodeAccountState, heldUsd } from './account-state.ts'

const coins = new Set(['BTC', 'ETH', 'DYDX', 'kPEPE'])
const shared = join(import.meta.dirname, '../../../../../shared/data/hl-api-fixtures')
const sample = join(shared, 'hyperliquid-math/2026-07-19-mainnet-m3.json')

/** In the venue's shape. */
const isolated = {
  coin: 'ETH',
  szi: '0.5',
  leverage: { type: 'isolated', value: 20, rawUsd: '-95.0' },
  entryPx: '2986.3',
  positionValue: '1493.15',
  unrealizedPnl: '0.0',
  returnOnEquity: '0.0',
  liquidationPx: '2866.5',
  marginUsed: '4.9',
  maxLeverage: 25,
  cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
}

describe('the state of an account', () => {
  test('a long, a short, and one that no price liquidates', () => {
    const reply = decode(
      isolated,
      { ...isolated, coin: 'kPEPE', szi: '-1000.0', leverage: { type: 'cross', value: 3 } },
      { ...isolated, coin: 'BTC', liquidationPx: null },
    )
    expect(reply).toEqual({
      kind: 'account',
      positions: [
        { coin: 'ETH', sizeBase: 0.5, entryPrice: 2986.3, leverage: 20, liquidationPrice: 2866.5 },
        expect.objectContaining({ coin: 'kPEPE', sizeBase: -1000, leverage: 3 }),
        expect.objectContaining({ coin: 'BTC', liquidationPrice: null }),
      ],
      unread: [],
      drops: [],
    })
  })

  test('of an account without positions is empty', () => {
    expect(decode()).toEqual({ kind: 'account', positions: [], unread: [], drops: [] })
  })

  test.each([['-12.5'], ['0.0'], ['99999999999.0']])(
    'a liquidation price that no coin can have (%s) is none',
    (liquidationPx) => {
      expect(decode({ ...isolated, liquidationPx })).toMatchObject({
        positions: [{ liquidationPrice: null }],
        drops: [],
      })
    },
  )

  test.each([
    ['no size', { szi: '0.0' }, 'bad_size'],
    ['a size without end', { szi: '9'.repeat(30) }, 'bad_size'],
    ['a size that is a number', { szi: 0.5 }, 'bad_size'],
    ['no entry price', { entryPx: '0.0' }, 'bad_price'],
    ['an entry price in words', { entryPx: 'NaN' }, 'bad_price'],
    ['an absent liquidation price', { liquidationPx: undefined }, 'bad_price'],
    ['a liquidation price that is a number', { liquidationPx: 1 }, 'bad_price'],
    ['no leverage', { leverage: undefined }, 'bad_number'],
    ['a leverage of nothing', { leverage: { type: 'cross', value: 0 } }, 'bad_number'],
    ['a leverage beyond all', { leverage: { type: 'cross', value: 1e9 } }, 'bad_number'],
    ['a broken leverage', { leverage: { type: 'cross', value: 1.5 } }, 'bad_number'],
  ])('a position with %s is left out, and known to be unread', (_, change, reason) => {
    const reply = decode({ ...isolated, ...change }, { ...isolated, coin: 'BTC' })
    expect(reply).toMatchObject({
      positions: [{ coin: 'BTC' }],
      unread: ['ETH'],
      drops: [expect.objectContaining({ reason })],
    })
  })

  test('a coin that is not listed is left out', () => {
    expect(decode({ ...isolated, coin: 'NOPE' })).toMatchObject({
      positions: [],
      unread: [],
      drops: [expect.objectContaining({ reason: 'unknown_coin' })],
    })
  })

  test('a coin that is told twice is believed in neither form', () => {
    expect(decode(isolated, { ...isolated, szi: '7.0' })).toMatchObject({
      positions: [],
      unread: ['ETH'],
      drops: [expect.objectContaining({ reason: 'bad_row' })],
    })
  })

  test.each([
    ['<html>', 'not_json'],
    ['null', 'bad_shape'],
    ['[]', 'bad_shape'],
    ['{"assetPositions":{}}', 'bad_shape'],
  ])('%s is refused as a whole', (body, reason) => {
    expect(decodeAccountState(body, coins)).toEqual({ kind: 'rejected', reason })
  })

  property.prop([fc.json(), fc.array(fc.anything())])(
    'whatever comes is data, and never throws',
    (body, rows) => {
      expect(() => decodeAccountState(body, coins)).not.toThrow()
      const reply = decodeAccountState(jsonOf({ assetPositions: rows }), coins)
      if (reply.kind === 'account') expect(reply.positions).toEqual([])
    },
  )

  test('is worth the sum of its positions at their entries, long or short', () => {
    const reply = decode(isolated, { ...isolated, coin: 'BTC', szi: '-2.0', entryPx: '100.0' })
    expect(reply.kind === 'account' ? heldUsd(reply.positions) : null).toBe(0.5 * 2986.3 + 200)
  })

  test.skipIf(!existsSync(sample))(
    'a real one is read whole, its null liquidation prices too (needs ../shared/data)',
    () => {
      const { selection } = JSON.parse(readFileSync(sample, 'utf8')) as {
        selection: { positions: object[] }
      }
      expect(decode(...selection.positions)).toMatchObject({
        positions: [
          { coin: 'BTC', sizeBase: 0.26876, leverage: 20, liquidationPrice: null },
          { coin: 'ETH', sizeBase: 23.8678, entryPrice: 1864.86, liquidationPrice: null },
          { coin: 'DYDX', sizeBase: -100480.9, liquidationPrice: 29.3180423289 },
        ],
        unread: [],
        drops: [],
      })
    },
  )
})

function decode(...positions: readonly object[]) {
  const assetPositions = positions.map((position) => ({ type: 'oneWay', position }))
  return decodeAccountState(JSON.stringify({ assetPositions, time: 1 }), coins)
}

/** JSON of anything; what has none is null. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? null : part))
  } catch {
    return 'null'
  }
}
