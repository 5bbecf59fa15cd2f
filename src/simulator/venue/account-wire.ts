import type { Account, AccountPosition } from '../market/accounts.ts'
import { decimalText, priceDecimalsMax } from '../market/precision.ts'

const USD_DECIMALS = 6
const RATIO_DECIMALS = 10
const PRICE_DECIMALS = 10
/** What a position has paid and received in funding: the model leaves it out. */
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' }

/** The reply to `clearinghouseState`. An unknown account has no positions and no value. */
export function accountWire(
  { positions, crossValueUsd, crossMaintenanceUsd }: Account,
  stampMs: number,
): object {
  const shared = positions.filter(({ isIsolated }) => !isIsolated)
  const isolatedUsd = positions
    .filter(({ isIsolated }) => isIsolated)
    .reduce((sum, position) => sum + marginUsd(position), 0)
  const sharedMarginUsd = shared.reduce((sum, position) => sum + marginUsd(position), 0)
  return {
    marginSummary: summary(positions, crossValueUsd + isolatedUsd),
    crossMarginSummary: summary(shared, crossValueUsd),
    crossMaintenanceMarginUsed: usd(crossMaintenanceUsd),
    withdrawable: usd(Math.max(0, crossValueUsd - sharedMarginUsd)),
    assetPositions: positions.map((position) => ({
      type: 'oneWay',
      position: positionWire(position),
    })),
    time: stampMs,
  }
}

function summary(positions: readonly AccountPosition[], valueUsd: number): object {
  const worthUsd = positions.reduce((sum, { sizeBase, markPrice }) => sum + sizeBase * markPrice, 0)
  return {
    accountValue: usd(valueUsd),
    totalNtlPos: usd(positions.reduce((sum, position) => sum + notionalUsd(position), 0)),
    totalRawUsd: usd(valueUsd - worthUsd),
    totalMarginUsed: usd(positions.reduce((sum, position) => sum + marginUsd(position), 0)),
  }
}

function positionWire(position: AccountPosition): object {
  const { instrument, sizeBase, entryPrice, markPrice, leverage, isIsolated, rawUsd } = position
  const { coin, sizeDecimals, maxLeverage } = instrument
  const profitUsd = sizeBase * (markPrice - entryPrice)
  const initialUsd = (Math.abs(sizeBase) * entryPrice) / leverage
  return {
    coin,
    szi: decimalText(sizeBase, sizeDecimals),
    leverage: isIsolated
      ? { type: 'isolated', value: leverage, rawUsd: usd(rawUsd) }
      : { type: 'cross', value: leverage },
    entryPx: decimalText(entryPrice, priceDecimalsMax(sizeDecimals)),
    positionValue: usd(notionalUsd(position)),
    unrealizedPnl: usd(profitUsd),
    returnOnEquity: decimalText(profitUsd / initialUsd, RATIO_DECIMALS),
    liquidationPx:
      position.liquidationPrice === null
        ? null
        : decimalText(position.liquidationPrice, PRICE_DECIMALS),
    marginUsed: usd(marginUsd(position)),
    maxLeverage,
    cumFunding: NO_FUNDING,
  }
}

function notionalUsd({ sizeBase, markPrice }: AccountPosition): number {
  return Math.abs(sizeBase) * markPrice
}

/** What is bound by a position: of an isolated one all that it is worth by itself. */
function marginUsd(position: AccountPosition): number {
  const { isIsolated, sizeBase, markPrice, rawUsd, leverage } = position
  return isIsolated ? sizeBase * markPrice + rawUsd : notionalUsd(position) / leverage
}

function usd(value: number): string {
  return decimalText(value, USD_DECIMALS)
}
