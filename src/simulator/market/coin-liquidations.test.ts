import { beforeAll, describe, expect, test } from 'vitest'
import { waveMarket } from '../../../test/support/wave-market.ts'
import { Accounts } from './accounts.ts'
import type { EnforcedTrade, Enforcement } from './enforced-trades.ts'
import { EnforcingMarket } from './enforcing-market.ts'
import { LIQUIDATOR } from './holders.ts'
import { verdictOn } from './liquidation-rule.ts'
import type { Market } from './market.ts'
import { distress } from './testing/distress.ts'

const START_MS = Date.UTC(2026, 2, 3, 4, 5, 20)
const MINUTE_MS = 60_000
const UNTIL_MS = START_MS + 120 * MINUTE_MS
const COIN = 'WAVE0'
const LOTS_A_UNIT = 100

describe('enforced trades of the model', () => {
  let market: Market
  let accounts: Accounts
  let trades: readonly EnforcedTrade[]
  const of = (enforcement: Enforcement) => trades.filter((one) => one.enforcement === enforcement)

  beforeAll(() => {
    market = waveMarket(1)
    accounts = new Accounts(market, START_MS, distress({ oneIn: 2, untilMs: UNTIL_MS }))
    trades = accounts.enforcedTrades(COIN, START_MS, UNTIL_MS)
  })

  test('are of every kind, ascending, with identifiers of their own', () => {
    for (const kind of ['market', 'backstop', 'unwinding', 'deleveraging'] as const)
      expect(of(kind).length, kind).toBeGreaterThan(5)
    const times = trades.map(({ timeMs }) => timeMs)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(new Set(trades.map(({ id }) => id)).size).toBe(trades.length)
    for (const { id } of trades) expect(Number.isSafeInteger(id)).toBe(true)
  })

  test('a position above 100,000 USD loses a fifth first, and the rest 30 s later at the earliest', () => {
    let partial = 0
    for (const [key, fills] of Map.groupBy(
      of('market'),
      ({ taker, timeMs }) => `${taker} ${timeMs}`,
    )) {
      const [first] = fills
      if (first === undefined) continue
      const lots = fills.reduce((sum, fill) => sum + fill.lots, 0)
      const before = Math.abs(first.takerLots)
      const usd = (before / LOTS_A_UNIT) * first.markPrice
      if (lots === before) {
        const earlier = of('market').findLast(
          (one) => one.taker === first.taker && one.timeMs < first.timeMs,
        )
        if (usd > 100_000)
          expect(first.timeMs - (earlier?.timeMs ?? 0), key).toBeGreaterThanOrEqual(30_000)
      } else {
        partial += 1
        expect(usd, key).toBeGreaterThan(100_000)
        expect(lots, key).toBe(Math.ceil(0.2 * before))
      }
    }
    expect(partial).toBeGreaterThan(3)
  })

  test('the vault holds what it took over, less what it sold and what deleveraging closed', () => {
    let lots = 0
    for (const trade of trades) {
      const { enforcement, side } = trade
      if (enforcement === 'market' || enforcement === 'closing') continue
      const sign = side === 'A' ? 1 : -1
      if (enforcement === 'backstop') {
        expect(trade.maker).toBe(LIQUIDATOR)
        expect(trade.makerLots + 0).toBe(lots)
        lots += sign * trade.lots
      } else {
        expect(trade.taker).toBe(LIQUIDATOR)
        expect(trade.takerLots + 0).toBe(lots)
        lots -= sign * trade.lots
      }
    }
    const held = accounts.holdersOf(COIN, UNTIL_MS).filter(({ account }) => account === LIQUIDATOR)
    expect(held.reduce((sum, { sizeBase }) => sum + sizeBase * LOTS_A_UNIT, 0)).toBeCloseTo(lots, 6)
  })

  test('longs and shorts stay equal', () => {
    for (let atMs = START_MS; atMs < UNTIL_MS; atMs += 7 * MINUTE_MS) {
      const own = new Accounts(market, START_MS, distress({ oneIn: 2, untilMs: UNTIL_MS }))
      const sum = own.holdersOf(COIN, atMs).reduce((total, { sizeBase }) => total + sizeBase, 0)
      expect(sum).toBeCloseTo(0, 6)
    }
  })

  test('are trades of the market, in its candles too', () => {
    const enforcing = new EnforcingMarket(market, accounts)
    const fromMs = START_MS - (START_MS % MINUTE_MS) + MINUTE_MS
    const all = enforcing.trades(COIN, fromMs - 1, fromMs + 10 * MINUTE_MS - 1)
    const own = market.trades(COIN, fromMs - 1, fromMs + 10 * MINUTE_MS - 1)
    const extra = all.filter(({ parties }) => parties !== undefined)
    expect(extra.length).toBe(all.length - own.length)
    expect(extra.length).toBeGreaterThan(0)
    const range = { fromMs, untilMs: fromMs + 10 * MINUTE_MS }
    const volume = (one: Market) =>
      one.candles(COIN, '1m', range, UNTIL_MS).reduce((sum, { volumeBase }) => sum + volumeBase, 0)
    const extraBase = extra.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
    expect(volume(enforcing) - volume(market)).toBeCloseTo(extraBase, 6)
    expect(enforcing.lastTrades(COIN, range.untilMs - 1, 5)).toEqual(all.slice(-5))
  })
})

describe('the rule', () => {
  const sound = { maintenanceUsd: 1_000, isCooling: false, wasPartial: false }

  test.each([
    [1_001, 50_000, 'none'],
    [1_000, 50_000, 'whole'],
    [1_000, 200_000, 'partial'],
    [667, 200_000, 'partial'],
    [666, 200_000, 'backstop'],
    [0, 50_000, 'backstop'],
    [-1, 50_000, 'bankrupt'],
  ] as const)(
    'equity %d of 1,000 USD maintenance, notional %d: %s',
    (equityUsd, notionalUsd, verdict) => {
      expect(verdictOn({ ...sound, equityUsd, notionalUsd })).toBe(verdict)
    },
  )

  test('within the cooldown only the vault acts, and after it the rest is closed', () => {
    const large = { ...sound, notionalUsd: 200_000, wasPartial: true }
    expect(verdictOn({ ...large, equityUsd: 900, isCooling: true })).toBe('none')
    expect(verdictOn({ ...large, equityUsd: 600, isCooling: true })).toBe('backstop')
    expect(verdictOn({ ...large, equityUsd: 900 })).toBe('whole')
  })
})
