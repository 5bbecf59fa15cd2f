import { beforeEach, describe, expect, test } from 'vitest'
import { RealisedLiquidations } from '../../compute/liquidation/realised-liquidations.ts'
import type { Drop } from '../hyperliquid/wire/rejection.ts'
import { VendorFills } from './vendor-fills.ts'

const NOW_MS = Date.UTC(2026, 5, 1)
const HOUR_MS = 3_600_000
const VAULT = `0x${'ee'.repeat(20)}`
const USER = `0x${'a1'.repeat(20)}`
const MAKER = `0x${'b2'.repeat(20)}`
const MARK = { liquidatedUser: USER, markPx: '100', method: 'market' }

const fill = (tid: number, wrong: object = {}) => ({
  ...{ coin: 'ETH', px: '99', sz: '2', side: 'A', time: NOW_MS - 200, dir: 'Close Long', tid },
  liquidation: MARK,
  ...wrong,
})

describe('the fills of a vendor', () => {
  let drops: Drop[]
  let vendor: VendorFills
  const newVendor = () =>
    new VendorFills({
      isVault: (account) => account === VAULT,
      figuresOf: (coin) => {
        if (coin === 'ETH') return { markPrice: 100, openInterestBase: 1_000 }
        return coin === 'NEW' ? null : undefined
      },
      onDrop: (one) => drops.push(one),
    })
  const read = (...fills: readonly object[]) =>
    vendor.read(
      JSON.stringify({ channel: 'liquidationFills', fills: fills.map((one) => [USER, one]) }),
      NOW_MS,
    )

  beforeEach(() => {
    drops = []
    vendor = newVendor()
  })

  test.each([
    ['a negative size', { sz: '-2' }, 'bad_size', ['ETH']],
    ['no size', { sz: undefined }, 'bad_size', ['ETH']],
    ['a size beyond the open interest', { sz: '2001' }, 'doubtful_figure', ['ETH']],
    ['an endless size', { sz: '9'.repeat(50) }, 'bad_size', ['ETH']],
    ['a size that is no decimal', { sz: '1e3' }, 'bad_size', ['ETH']],
    ['a negative price', { px: '-99' }, 'bad_price', ['ETH']],
    [
      'prices far from the mark',
      { px: '300', liquidation: { ...MARK, markPx: '300' } },
      'doubtful_figure',
      ['ETH'],
    ],
    ['a price far from its own mark', { px: '301' }, 'doubtful_figure', ['ETH']],
    ['a future time', { time: NOW_MS + HOUR_MS }, 'bad_time', ['ETH']],
    ['a time of the day before', { time: NOW_MS - 25 * HOUR_MS }, 'bad_time', ['ETH']],
    ['a time in seconds', { time: NOW_MS / 1_000 }, 'bad_time', ['ETH']],
    ['an unknown coin', { coin: 'NONE' }, 'unknown_coin', []],
    ['a coin without figures', { coin: 'NEW' }, 'doubtful_figure', ['NEW']],
    ['no trade', { tid: undefined }, 'bad_trade_id', ['ETH']],
    ['no side', { side: 'long' }, 'bad_side', ['ETH']],
    ['no account', { liquidation: { ...MARK, liquidatedUser: null } }, 'bad_row', ['ETH']],
    ['another method', { liquidation: { ...MARK, method: 'adl' } }, 'bad_row', ['ETH']],
  ])('one with %s is dropped with its reason', (_, wrong, reason, lostCoins) => {
    const taken = read(fill(1), fill(2, wrong), fill(3))
    expect(taken.events).toMatchObject([1, 3].map((tradeId) => ({ tradeId, isFromVendor: true })))
    expect(drops.map((one) => one.reason)).toEqual([reason])
    expect(taken, 'what the vendor covers').toMatchObject({ isComplete: true, lostCoins })
  })

  test.each([
    ['no coin', { coin: undefined }],
    ['an invalid size, of a coin that is not served', { coin: 'NONE', sz: '0' }],
  ])('one with %s may be of any coin', (_, wrong) => {
    expect(read(fill(1, wrong))).toMatchObject({ isComplete: false, lostCoins: [] })
  })

  test.each([
    ['text', 'no json'],
    ['a list', '[]'],
    ['fills that are no list', '{"channel":"liquidationFills","fills":"all"}'],
    ['too many', JSON.stringify({ type: 'liquidationFills', fills: Array(2_001).fill([]) })],
  ])('a frame of %s is dropped', (_, text) => {
    expect(vendor.read(text, NOW_MS)).toEqual({
      events: [],
      isComplete: false,
      lostCoins: [],
      isSubscribed: false,
    })
    expect(drops.map(({ reason }) => reason)).toEqual(['bad_row'])
  })

  test('a trade is delivered once, and a contradiction is dropped', () => {
    expect(read(fill(1), fill(1)).events).toHaveLength(1)
    expect(read(fill(1)).events).toEqual([])
    expect(drops).toEqual([])
    expect(read(fill(1, { sz: '3' }))).toMatchObject({ events: [], lostCoins: ['ETH'] })
    expect(drops).toEqual([{ reason: 'doubtful_figure', field: 'tid', coin: 'ETH' }])
    expect(read(fill(2, { liquidation: { ...MARK, liquidatedUser: VAULT } })).events).toEqual([])
  })

  test('late, repeated and reordered fills give the sums of the sorted ones', () => {
    const fills = Array.from({ length: 200 }, (_, i) =>
      fill(i, {
        sz: String(1 + (i % 7)),
        time: NOW_MS - 60_000 * (200 - i),
        liquidation: { ...MARK, liquidatedUser: i % 3 === 0 ? USER : MAKER },
      }),
    )
    const sums = (order: readonly object[]) => {
      vendor = newVendor()
      const realised = new RealisedLiquidations()
      for (const one of order) for (const event of read(one).events) realised.apply(event)
      return [realised.side('long', NOW_MS), realised.side('short', NOW_MS)]
    }
    const reordered = fills.map((_, i) => fills[(i * 73) % 200] ?? fail())
    expect(sums([...reordered, ...fills.slice(40, 90)])).toEqual(sums(fills))
    expect(sums(fills)[1]?.count).toBeGreaterThan(50)
    expect(drops).toEqual([])
  })

  test('memory is bounded by 16,384 trades, and each of 20,000 is delivered', () => {
    let delivered = 0
    for (let i = 0; i < 20_000; i += 2_000)
      delivered += read(...Array.from({ length: 2_000 }, (_, at) => fill(i + at))).events.length
    expect(delivered).toBe(20_000)
    expect(read(fill(19_999)).events).toEqual([])
    expect(read(fill(0)).events, 'removed by then').toHaveLength(1)
  })
})

function fail(): never {
  throw new Error('no such fill')
}
