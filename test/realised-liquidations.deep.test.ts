import { beforeAll, describe, expect, test } from 'vitest'
import { realisedLiquidations } from '../src/compute/liquidation/realised-liquidations.ts'
import type { EnforcedTrade } from '../src/simulator/market/enforced-trades.ts'
import { LIQUIDATOR } from '../src/simulator/market/holders.ts'
import type { Instrument } from '../src/simulator/market/market.ts'
import { enforcedFillWire } from '../src/simulator/venue/fill-wire.ts'
import { addressOf } from '../src/simulator/venue/traders.ts'
import {
  decodeFillPairs,
  liquidationEvents,
} from '../src/streams/hyperliquid/wire/liquidation-fills.ts'
import { NodeFills } from '../src/streams/liquidations/node-fills.ts'
import type { PlantedRun } from './support/planted-liquidations.ts'
import { keyOf, plantedRun } from './support/planted-liquidations.ts'

/** Planted liquidations in virtual time: the ledger of the venue against what the service says. The bench plants 10,000. */

const COINS = 40
const MINUTES = 80
const HOUR_MS = 3_600_000

describe('planted liquidations, with everything that looks like them', () => {
  let run: PlantedRun
  const sizeOf = ({ lots }: EnforcedTrade) => lots / 100
  const notional = (trades: readonly EnforcedTrade[]) =>
    trades.reduce((sum, trade) => sum + sizeOf(trade) * trade.markPrice, 0)
  const isFound = (trade: EnforcedTrade) => run.found.has(keyOf(trade, trade.id))

  beforeAll(() => {
    run = plantedRun(COINS, MINUTES)
  })

  test('the venue makes them and the decoys', () => {
    const counts = (kind: EnforcedTrade['enforcement']) =>
      run.ledger.filter(({ enforcement }) => enforcement === kind).length
    expect(counts('market')).toBeGreaterThan(400)
    expect(counts('backstop')).toBeGreaterThan(1_000)
    expect(counts('unwinding')).toBeGreaterThan(2_000)
    expect(counts('deleveraging')).toBeGreaterThan(300)
    expect(counts('closing')).toBeGreaterThan(100)
  })

  test('100 % of the backstops are found', () => {
    const missed = run.truth.filter((trade) => trade.enforcement === 'backstop' && !isFound(trade))
    expect(missed).toEqual([])
  })

  test('at least 95 % of the notional of followed accounts is found', () => {
    const followed = run.truth.filter(
      (trade) => trade.enforcement === 'market' && run.isFollowed(trade),
    )
    expect(followed.length).toBeGreaterThan(300)
    expect(notional(followed.filter(isFound)) / notional(followed)).toBeGreaterThan(0.95)
  })

  test('none is false, and each has the figures of the ledger', () => {
    const isLiquidation = ({ enforcement }: EnforcedTrade) =>
      enforcement === 'market' || enforcement === 'backstop'
    const truth = new Map(
      run.ledger.filter(isLiquidation).map((trade) => [keyOf(trade, trade.id), trade]),
    )
    for (const [key, event] of run.found) {
      const trade = truth.get(key)
      if (trade === undefined) expect.fail(`${key} is no liquidation`)
      expect(event).toMatchObject({
        account: addressOf(trade.taker),
        side: trade.side === 'A' ? 'long' : 'short',
        method: trade.enforcement,
        timeExchangeMs: trade.timeMs,
        sizeBase: sizeOf(trade),
      })
      expect(event.markPrice).toBeCloseTo(trade.markPrice, 3)
    }
  })

  test('the sums of the last day are those of the ledger, in spite of repeated replies and a restart', () => {
    const found = run.ledger.filter(isFound)
    const atMs = Math.max(...found.map(({ timeMs }) => timeMs)) + 1
    for (const { coin } of run.market.listings) {
      const realised = run.market.coin(coin)?.of(realisedLiquidations)
      for (const [side, taken] of [
        ['long', 'A'],
        ['short', 'B'],
      ] as const) {
        const own = found.filter((trade) => trade.coin === coin && trade.side === taken)
        const { notional: said, count } = realised?.side(side, atMs) ?? {}
        expect(said).toBeCloseTo(notional(own), 2)
        expect(count).toBe(new Set(own.map(({ taker, timeMs }) => `${taker} ${timeMs}`)).size)
      }
    }
  })

  test('a source of all liquidations, and the archive of the venue, have 100 %', () => {
    const sizeDecimals = 2
    const instrument = { coin: '', sizeDecimals } as Instrument
    const pairs = run.ledger.flatMap((trade) =>
      [trade.taker, trade.maker].map((account) => [
        addressOf(account),
        enforcedFillWire(trade, account, { ...instrument, coin: trade.coin }),
      ]),
    )
    const isVault = (account: string) => account === addressOf(LIQUIDATOR)
    const archive = new NodeFills()
    for (const pair of pairs) {
      const { time } = pair[1] as { readonly time: number }
      expect(archive.read(JSON.stringify(pair), time - (time % HOUR_MS))).toBe('read')
    }
    const archived = liquidationEvents(archive.take().fills, isVault, 0)
    const read = new Set(archived.map((event) => keyOf(event, event.tradeId)))
    const truth = run.ledger.filter(({ enforcement }) => /market|backstop/.test(enforcement))
    expect(read).toEqual(new Set(truth.map((trade) => keyOf(trade, trade.id))))
    const { liquidations } = decodeFillPairs(pairs, Number.MAX_SAFE_INTEGER)
    const sent = liquidationEvents(liquidations, isVault, 0)
    expect(new Set(sent.map((event) => keyOf(event, event.tradeId)))).toEqual(read)
  })

  test('the requests keep to their part of the weight', () => {
    expect(run.notices.filter(({ kind }) => kind === 'paused')).toEqual([])
    const weights = [...run.weights.values()]
    // 100 a minute, a burst of 120, and the rows of one reply, which are known when it arrives.
    expect(Math.max(...weights)).toBeLessThan(320)
    const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length
    expect(mean).toBeLessThan(110)
  })
})
