import type { ContextEvent } from '../../../domain/event.ts'
import type { DropReason } from './values.ts'
import { amount, fraction, isVenueObject, price } from './values.ts'

/** The venue caps funding at 4 % an hour; who deploys a dex may multiply it by ten. */
export const FUNDING_MAX = 0.4
/** A perpetual at eleven times its oracle. */
export const PREMIUM_MAX = 10

/** An impact price as far from the mid as this, as a fraction, is a broken figure: nobody fills there. */
const IMPACT_DISTANCE_MAX = 0.5

/** Without impact prices where one is too far from the coin's mid; the very event where none is. */
export function withSaneImpact(context: ContextEvent): ContextEvent {
  const { impactBid, impactAsk, midPrice, markPrice } = context
  const isFar = (price: number | null) =>
    price !== null && Math.abs(price / (midPrice ?? markPrice) - 1) >= IMPACT_DISTANCE_MAX
  return isFar(impactBid) || isFar(impactAsk)
    ? { ...context, impactBid: null, impactAsk: null }
    : context
}

/**
 * One row of the venue's contexts. It carries no time: the receive time stands for both.
 * @returns undefined, with the reason in `drops`, when a figure is missing that must not be null
 */
export function decodeContext(
  row: unknown,
  coin: string,
  timeReceivedMs: number,
  drops: DropReason[],
): ContextEvent | undefined {
  if (!isVenueObject(row)) {
    drops.push('bad_row')
    return undefined
  }
  const markPrice = price(row.markPx)
  const oraclePrice = price(row.oraclePx)
  if (markPrice === undefined || oraclePrice === undefined) {
    drops.push('bad_price')
    return undefined
  }
  const fundingRateHourly = fraction(row.funding, FUNDING_MAX)
  const openInterestBase = amount(row.openInterest)
  const dayNotionalUsd = amount(row.dayNtlVlm)
  if (
    fundingRateHourly === undefined ||
    openInterestBase === undefined ||
    dayNotionalUsd === undefined
  ) {
    drops.push('bad_number')
    return undefined
  }
  const impact = Array.isArray(row.impactPxs) ? row.impactPxs : [row.impactPxs, row.impactPxs]
  return {
    kind: 'context',
    coin,
    timeExchangeMs: timeReceivedMs,
    timeReceivedMs,
    markPrice,
    oraclePrice,
    midPrice: optional(row.midPx, price, 'bad_price', drops),
    premium: optional(row.premium, premium, 'bad_number', drops),
    impactBid: optional(impact[0], price, 'bad_price', drops),
    impactAsk: optional(impact[1], price, 'bad_price', drops),
    fundingRateHourly,
    openInterestBase,
    dayNotionalUsd,
    prevDayPrice: optional(row.prevDayPx, price, 'bad_price', drops),
  }
}

function premium(value: unknown): number | undefined {
  return fraction(value, PREMIUM_MAX)
}

function optional(
  value: unknown,
  read: (value: unknown) => number | undefined,
  reason: DropReason,
  drops: DropReason[],
): number | null {
  if (value === null || value === undefined) return null
  const number = read(value)
  if (number === undefined) drops.push(reason)
  return number ?? null
}
