import type { EnforcedTrade, Enforcement } from '../market/enforced-trades.ts'
import { LIQUIDATOR } from '../market/holders.ts'
import type { Instrument, Trade } from '../market/market.ts'
import { decimalText, priceDecimalsMax, sizeOf } from '../market/precision.ts'
import { addressOf } from './traders.ts'
import { tradeHash } from './wire.ts'

/** A trade as one of its accounts sees it. */
type Part = {
  readonly isTaker: boolean
  /** Position before, negative for a short. */
  readonly startBase: number
  readonly dir: string
}

/** A fill of an enforced trade, as the venue lists it for one of its accounts. */
export function enforcedFillWire(
  trade: EnforcedTrade,
  account: number,
  instrument: Instrument,
): object {
  const { lots, taker, takerLots, makerLots, markPrice, enforcement } = trade
  const { sizeDecimals } = instrument
  const isTaker = account === taker
  const startLots = isTaker ? takerLots : makerLots
  const sizeBase = sizeOf(lots, sizeDecimals)
  const part = {
    isTaker,
    startBase: Math.sign(startLots) * sizeOf(Math.abs(startLots), sizeDecimals),
    dir: directionOf(trade, isTaker),
  }
  const fill = fillWire({ ...trade, sizeBase, orderKey: trade.id }, part, instrument)
  const liquidatedUser = liquidatedBy(enforcement, taker)
  if (liquidatedUser === undefined) return fill
  const mark = decimalText(markPrice, priceDecimalsMax(sizeDecimals))
  const method = enforcement === 'market' ? 'market' : 'backstop'
  return {
    ...fill,
    liquidation: { liquidatedUser: addressOf(liquidatedUser), markPx: mark, method },
  }
}

/** A fill of an ordinary trade. */
export function fillWire(
  trade: Trade,
  { isTaker, startBase, dir }: Part,
  { coin, sizeDecimals }: Instrument,
): object {
  return {
    coin,
    px: decimalText(trade.price, priceDecimalsMax(sizeDecimals)),
    sz: decimalText(trade.sizeBase, sizeDecimals),
    side: (trade.side === 'B') === isTaker ? 'B' : 'A',
    time: trade.timeMs,
    startPosition: decimalText(startBase, sizeDecimals),
    dir,
    closedPnl: '0.0',
    hash: tradeHash(trade),
    oid: trade.id % 2 ** 40,
    crossed: isTaker,
    fee: '0.0',
    tid: trade.id,
    feeToken: 'USDC',
    twapId: null,
  }
}

/** The mark of a liquidation is on the fills of both accounts, and on those of a deleveraging as well. */
function liquidatedBy(enforcement: Enforcement, taker: number): number | undefined {
  switch (enforcement) {
    case 'market':
    case 'backstop':
      return taker
    case 'deleveraging':
      return LIQUIDATOR
    case 'unwinding':
    case 'closing':
      return undefined
  }
}

function directionOf({ enforcement, side }: EnforcedTrade, isTaker: boolean): string {
  if (enforcement === 'deleveraging') return 'Auto-Deleveraging'
  const name = side === 'A' ? 'Long' : 'Short'
  if (!isTaker) return `Open ${name}`
  const isLiquidation = enforcement === 'market' || enforcement === 'backstop'
  return isLiquidation ? `Liquidated Isolated ${name}` : `Close ${name}`
}
