import type {
  AccountPositionEvent,
  CoinEvent,
  ContextEvent,
  TradeEvent,
} from '../../../domain/event.ts'
import { singleMarginTier } from '../../../domain/listing.ts'
import { CandleLadder } from '../../candles/candle-ladder.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { CoinMarket } from '../../market/coin-market.ts'
import { newCoin } from '../../testing/new-market.ts'
import { context } from '../../testing/tape.ts'

export const START_MS = Date.UTC(2026, 5, 1, 12)

/** A coin without events. */
export function coinOf(maxLeverage: number): CoinMarket {
  const marginTiers = singleMarginTier(maxLeverage)
  return newCoin(
    { coin: 'X', sizeDecimals: 2, maxLeverage, marginTiers, isDelisted: false },
    new CandleLadder(new PulsePool(3)),
  )
}

/** Open interest and mark, `seconds` after the start. */
export function reading(seconds: number, openInterestBase: number, markPrice = 100): ContextEvent {
  return context('X', { openInterestBase, markPrice, midPrice: markPrice, ...at(seconds) })
}

export function mark(seconds: number, markPrice: number): CoinEvent {
  return { kind: 'mark', coin: 'X', markPrice, ...at(seconds) }
}

export function trade(
  seconds: number,
  takerSide: TradeEvent['takerSide'],
  sizeBase: number,
  price = 100,
): TradeEvent {
  return {
    kind: 'trade',
    coin: 'X',
    tradeId: seconds,
    takerSide,
    price,
    sizeBase,
    ...at(seconds),
  }
}

export function position(
  account: string,
  sizeBase: number,
  changes: Partial<AccountPositionEvent> = {},
): AccountPositionEvent {
  return {
    kind: 'account-position',
    coin: 'X',
    account,
    sizeBase,
    entryPrice: 100,
    leverage: 10,
    liquidationPrice: sizeBase > 0 ? 92 : 108,
    ...at(0),
    ...changes,
  }
}

export function at(seconds: number) {
  const timeMs = START_MS + seconds * 1_000
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}
