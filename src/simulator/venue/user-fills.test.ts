import { beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { waveMarket } from '../../../test/support/wave-market.ts'
import { Accounts } from '../market/accounts.ts'
import type { EnforcedTrade } from '../market/enforced-trades.ts'
import { LIQUIDATOR } from '../market/holders.ts'
import { distress } from '../market/testing/distress.ts'
import { venueCadences, venueLimits } from './limits.ts'
import { ScriptedClient } from './testing/scripted-client.ts'
import { addressOf } from './traders.ts'
import { Venue } from './venue.ts'

const START_MS = Date.UTC(2026, 2, 3, 4, 5, 20)
const MINUTE_MS = 60_000
const MINUTES = 40
const newFates = distress({ oneIn: 2, untilMs: START_MS + MINUTES * MINUTE_MS })

type FillWire = {
  readonly tid: number
  readonly time: number
  readonly coin: string
  readonly dir: string
  readonly side: string
  readonly startPosition: string
  readonly liquidation?: { liquidatedUser: string; markPx: string; method: string }
}
type TradeWire = { readonly coin: string; readonly tid: number; readonly users: readonly string[] }

describe('userFillsByTime of the simulated venue', () => {
  const clock = new ManualClock(START_MS)
  const venue = new Venue({
    ...{ market: waveMarket(2), clock, newFates },
    limits: venueLimits,
    cadences: { ...venueCadences, blockMs: 1_000 },
  })
  const client = new ScriptedClient(venue)
  let ledger: readonly EnforcedTrade[] = []
  const ask = (body: object) => {
    const { status, body: text = '' } = venue.info('another', JSON.stringify(body)) ?? {}
    return { status, reply: status === 200 ? JSON.parse(text) : text }
  }
  const fillsOf = (user: string): readonly FillWire[] =>
    ask({ type: 'userFillsByTime', user, startTime: START_MS }).reply

  beforeAll(() => {
    for (const coin of ['WAVE0', 'WAVE1']) client.subscribe({ type: 'trades', coin })
    clock.advance(MINUTES * MINUTE_MS)
    const reference = new Accounts(waveMarket(2), START_MS, newFates)
    ledger = ['WAVE0', 'WAVE1'].flatMap((coin) =>
      reference.enforcedTrades(coin, START_MS, clock.nowMs() - 1_000),
    )
  })

  test('shows the mark of a liquidation to both accounts of it, and to nobody else', () => {
    const marked = ledger.filter(({ enforcement }) => /market|backstop/.test(enforcement))
    expect(marked.length).toBeGreaterThan(20)
    for (const trade of marked.slice(0, 12)) {
      for (const account of [trade.taker, trade.maker]) {
        const fill = fillsOf(addressOf(account)).find(
          ({ tid, coin }) => tid === trade.id && coin === trade.coin,
        )
        expect(fill?.liquidation).toMatchObject({
          liquidatedUser: addressOf(trade.taker),
          method: trade.enforcement,
        })
        const lots = account === trade.taker ? trade.takerLots : trade.makerLots
        expect(Number(fill?.startPosition)).toBeCloseTo(lots / 100, 9)
      }
    }
  })

  test("the vault's unwinding has no mark; deleveraging has one, with its own direction", () => {
    const fills = fillsOf(addressOf(LIQUIDATOR))
    const byKind = Map.groupBy(ledger, ({ enforcement }) => enforcement)
    const of = (kind: 'unwinding' | 'deleveraging') =>
      (byKind.get(kind) ?? []).map(
        ({ id, coin }) => fills.find((fill) => fill.tid === id && fill.coin === coin) as FillWire,
      )
    expect(of('unwinding').length).toBeGreaterThan(10)
    for (const fill of of('unwinding')) expect(fill.liquidation).toBeUndefined()
    expect(of('deleveraging').length).toBeGreaterThan(2)
    for (const { dir, liquidation } of of('deleveraging')) {
      expect(dir).toBe('Auto-Deleveraging')
      expect(liquidation?.liquidatedUser).toBe(addressOf(LIQUIDATOR))
    }
  })

  test('every enforced trade is on the tape, with both accounts', () => {
    const tape = new Map(
      (client.data('trades').flat() as TradeWire[]).map((trade) => [
        `${trade.coin} ${trade.tid}`,
        trade,
      ]),
    )
    for (const { coin, id, side, taker, maker } of ledger) {
      const [buyer, seller] = side === 'B' ? [taker, maker] : [maker, taker]
      expect(tape.get(`${coin} ${id}`)?.users).toEqual([addressOf(buyer), addressOf(seller)])
    }
  })

  test('lists ordinary fills as well, ascending, within the time asked for', () => {
    const user = addressOf(ledger[0]?.taker ?? 0)
    const fills = fillsOf(user)
    expect(fills.some(({ tid }) => tid < 2 ** 52)).toBe(true)
    const times = fills.map(({ time }) => time)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    const half = { startTime: START_MS, endTime: START_MS + 20 * MINUTE_MS }
    const early: FillWire[] = ask({ type: 'userFillsByTime', user, ...half }).reply
    expect(early).toEqual(fills.filter(({ time }) => time <= half.endTime))
  })

  test('an unknown account has none, and an invalid request is refused', () => {
    expect(fillsOf(`0x${'ab'.repeat(20)}`)).toEqual([])
    expect(ask({ type: 'userFillsByTime', user: 'me', startTime: 1 }).status).toBe(422)
    expect(ask({ type: 'userFillsByTime', user: addressOf(1) }).status).toBe(422)
  })

  test('the details of the vaults lead from the parent to the liquidator', () => {
    const vaultAddress = '0xdfc24b077bc1425ad1dea75bcb6f8158e10df303'
    const parent = ask({ type: 'vaultDetails', vaultAddress }).reply
    expect(parent.relationship.data.childAddresses).toEqual([addressOf(LIQUIDATOR)])
    const child = ask({ type: 'vaultDetails', vaultAddress: addressOf(LIQUIDATOR) }).reply
    expect(child.name).toBe('HLP Liquidator')
    expect(ask({ type: 'userRole', user: addressOf(LIQUIDATOR) }).reply).toEqual({ role: 'vault' })
    expect(ask({ type: 'vaultDetails', vaultAddress: addressOf(1) }).reply).toBeNull()
  })
})
