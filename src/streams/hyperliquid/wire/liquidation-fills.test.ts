import { describe, expect, test } from 'vitest'
import { decodeFillPairs, decodeUserFills, liquidationEvents } from './liquidation-fills.ts'

const ACCOUNT = `0x${'a1'.repeat(20)}`
const OTHER = `0x${'b2'.repeat(20)}`
const NOW_MS = Date.UTC(2026, 5, 1)
const REQUEST = { account: ACCOUNT, fromMs: NOW_MS - 60_000, untilMs: NOW_MS }
const MARK = { liquidatedUser: ACCOUNT, markPx: '99.5', method: 'market' }

/** As the venue documents it. */
const FILL = {
  ...{ coin: 'ETH', px: '99.4', sz: '2.5', side: 'A', time: NOW_MS - 1_000, startPosition: '2.5' },
  ...{ dir: 'Liquidated Isolated Long', closedPnl: '-10.0', hash: `0x${'0'.repeat(64)}` },
  ...{ oid: 1, crossed: true, fee: '0.0', tid: 77, feeToken: 'USDC', twapId: null },
  liquidation: MARK,
}
const decoded = (...rows: readonly object[]) => {
  const reply = decodeUserFills(JSON.stringify(rows), REQUEST, NOW_MS)
  if (reply.kind === 'rejected') throw new Error(reply.reason)
  return reply
}

describe('the fills of an account', () => {
  test('a marked fill is a liquidation, with the side of the closed position', () => {
    expect(decoded(FILL).liquidations).toEqual([
      {
        ...{ coin: 'ETH', tradeId: 77, account: ACCOUNT, side: 'long', price: 99.4 },
        ...{ sizeBase: 2.5, markPrice: 99.5, method: 'market', timeMs: NOW_MS - 1_000 },
      },
    ])
    expect(decoded({ ...FILL, side: 'B' }).liquidations[0]?.side).toBe('short')
  })

  test('the other account of the trade shows the same liquidation', () => {
    const mark = { ...MARK, liquidatedUser: OTHER.toUpperCase().replace('0X', '0x') }
    const [found] = decoded({
      ...FILL,
      side: 'B',
      dir: 'Open Long',
      liquidation: mark,
    }).liquidations
    expect(found).toMatchObject({ account: OTHER, side: 'long' })
  })

  test('an ordinary fill is none, and deleveraging, which has the same mark, is none', () => {
    const { liquidation: _, ...ordinary } = FILL
    const reply = decoded(
      ordinary,
      { ...FILL, liquidation: null },
      { ...FILL, dir: 'Auto-Deleveraging' },
    )
    expect(reply).toMatchObject({ liquidations: [], drops: [], rows: 3 })
  })

  test('a mark price may be a number', () => {
    expect(decoded({ ...FILL, liquidation: { ...MARK, markPx: 99.5 } }).liquidations).toHaveLength(
      1,
    )
  })

  test.each([
    ['no method', { liquidation: { ...MARK, method: 'other' } }, 'bad_row'],
    ['no account', { liquidation: { ...MARK, liquidatedUser: 'me' } }, 'bad_row'],
    ['a mark that is text', { liquidation: 'yes' }, 'bad_row'],
    ['no coin', { coin: 7 }, 'bad_row'],
    ['no price', { px: '0' }, 'bad_price'],
    ['a price far from the mark', { px: '400' }, 'doubtful_figure'],
    ['no size', { sz: '0.0' }, 'bad_size'],
    ['a negative size', { sz: '-1' }, 'bad_size'],
    ['no trade', { tid: 'x' }, 'bad_trade_id'],
    ['no side', { side: 'C' }, 'bad_side'],
    ['another time', { time: NOW_MS - 61_000 }, 'bad_time'],
    ['the future', { time: NOW_MS + 3_600_000 }, 'bad_time'],
  ])('a fill with %s is dropped', (_, wrong, reason) => {
    const reply = decoded(FILL, { ...FILL, ...wrong })
    expect(reply.liquidations).toHaveLength(1)
    expect(reply.drops.map((one) => one.reason)).toEqual([reason])
  })

  test('no list is rejected', () => {
    expect(decodeUserFills('{}', REQUEST, NOW_MS)).toMatchObject({ reason: 'bad_shape' })
    expect(decodeUserFills('no', REQUEST, NOW_MS)).toMatchObject({ reason: 'not_json' })
    expect(decoded(FILL, [] as object).drops).toHaveLength(1)
  })

  test('pairs of account and fill give the same', () => {
    const reply = decodeFillPairs([[ACCOUNT, FILL], ['me', FILL], 7], NOW_MS)
    expect(reply.liquidations).toEqual(decoded(FILL).liquidations)
    expect(reply.drops).toHaveLength(2)
  })

  test('what is taken from a vault is no liquidation', () => {
    const { liquidations } = decoded(FILL)
    expect(liquidationEvents(liquidations, (one) => one === ACCOUNT, NOW_MS)).toEqual([])
    expect(liquidationEvents(liquidations, () => false, NOW_MS)).toMatchObject([
      { kind: 'liquidation', timeExchangeMs: NOW_MS - 1_000, timeReceivedMs: NOW_MS },
    ])
  })
})
