import type { ContextEvent } from '../../../domain/event.ts'
import { FUNDING_RATE_HOURLY_MAX } from '../../../domain/funding-rate.ts'
import { amount, fraction, optionalField, priceField, pricePair } from './field-types.ts'
import type { Drop } from './rejection.ts'
import { drop } from './rejection.ts'
import type { Row, RowScope } from './row-fields.ts'
import { RowFields } from './row-fields.ts'
import { isVenueObject } from './values.ts'

/** A perpetual at eleven times its oracle price. */
export const PREMIUM_MAX = 10

/** The context of one coin in `allDexsAssetCtxs`, `activeAssetCtx` and `metaAndAssetCtxs`. */
export const contextFields = new RowFields({
  funding: fraction(FUNDING_RATE_HOURLY_MAX),
  openInterest: amount('bad_number'),
  prevDayPx: optionalField(priceField),
  dayNtlVlm: amount('bad_number'),
  premium: optionalField(fraction(PREMIUM_MAX)),
  oraclePx: priceField,
  markPx: priceField,
  midPx: optionalField(priceField),
  impactPxs: pricePair,
})
const { at } = contextFields

/** Contexts carry no exchange time; the receive time replaces it. */
export function contextOf(row: Row, coin: string, timeReceivedMs: number): ContextEvent {
  const impact = row.value<readonly (number | null)[] | undefined>(at.impactPxs)
  return {
    kind: 'context',
    coin,
    timeExchangeMs: timeReceivedMs,
    timeReceivedMs,
    markPrice: row.number(at.markPx),
    oraclePrice: row.number(at.oraclePx),
    midPrice: row.numberOrNull(at.midPx),
    premium: row.numberOrNull(at.premium),
    impactBid: impact?.[0] ?? null,
    impactAsk: impact?.[1] ?? null,
    fundingRateHourly: row.number(at.funding),
    openInterestBase: row.number(at.openInterest),
    dayNotional: row.number(at.dayNtlVlm),
    prevDayPrice: row.numberOrNull(at.prevDayPx),
  }
}

/** @returns undefined, with the reason in `drops`, for a row without a required figure */
export function parseContext(
  value: unknown,
  coin: string,
  scope: RowScope,
  drops: Drop[],
): ContextEvent | undefined {
  if (!isVenueObject(value)) {
    drops.push(drop('bad_row', 'ctx', coin))
    return undefined
  }
  const row = contextFields.parse(value, scope, drops, coin)
  return row === null ? undefined : contextOf(row, coin, scope.timeReceivedMs)
}
