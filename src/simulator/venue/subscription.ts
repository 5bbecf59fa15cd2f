import { isRecord } from '../../domain/json.ts'
import type { CandleInterval } from '../market/market.ts'
import { isCandleInterval } from '../market/market.ts'

/** One public channel as the venue echoes it: normalised, in this order of keys. */
export type Subscription =
  | { readonly type: 'trades' | 'bbo' | 'activeAssetCtx'; readonly coin: string }
  | {
      readonly type: 'l2Book'
      readonly coin: string
      readonly nSigFigs: number | null
      readonly mantissa: number | null
      readonly fast: boolean
    }
  | { readonly type: 'candle'; readonly coin: string; readonly interval: CandleInterval }
  | { readonly type: 'allMids' | 'assetCtxs'; readonly dex?: string }
  | { readonly type: 'allDexsAssetCtxs' | 'fastAssetCtxs' }
  | { readonly type: 'userFills'; readonly user: string; readonly aggregateByTime: boolean }
  | {
      readonly type: 'userFundings' | 'userNonFundingLedgerUpdates' | 'userEvents' | 'orderUpdates'
      readonly user: string
    }

/** Channels of one user. They begin empty and send nothing, because users do not trade here. */
export type UserSubscription = Extract<Subscription, { readonly user: string }>

export type ParsedSubscription =
  | { readonly kind: 'valid'; readonly subscription: Subscription }
  /** The venue answers with the error text of a frame that it cannot parse. */
  | { readonly kind: 'unparsable' }
  | { readonly kind: 'invalid' }
  /** The venue closes the socket without a word. */
  | { readonly kind: 'fatal' }

const figuresMin = 2
const figuresMax = 5
const mantissas: readonly unknown[] = [1, 2, 5]
const USER = /^0x[0-9a-fA-F]{40}$/

export function parseSubscription(value: unknown): ParsedSubscription {
  if (!isRecord(value)) return { kind: 'unparsable' }
  const { type, coin } = value
  switch (type) {
    case 'trades':
    case 'bbo':
    case 'activeAssetCtx':
      return typeof coin === 'string' ? valid({ type, coin }) : { kind: 'unparsable' }
    case 'l2Book':
      return typeof coin === 'string' ? parseBook(coin, value) : { kind: 'unparsable' }
    case 'candle': {
      const { interval } = value
      if (typeof coin !== 'string' || typeof interval !== 'string') return { kind: 'unparsable' }
      if (!isCandleInterval(interval)) return { kind: 'unparsable' }
      return valid({ type, coin, interval })
    }
    case 'allMids':
    case 'assetCtxs': {
      const { dex } = value
      if (dex === undefined || dex === null) return valid({ type })
      return typeof dex === 'string' ? valid({ type, dex }) : { kind: 'unparsable' }
    }
    case 'allDexsAssetCtxs':
    case 'fastAssetCtxs':
      return valid({ type })
    case 'userFills': {
      const { user, aggregateByTime = false } = value
      if (!isUser(user) || typeof aggregateByTime !== 'boolean') return { kind: 'unparsable' }
      return valid({ type, user, aggregateByTime })
    }
    case 'userFundings':
    case 'userNonFundingLedgerUpdates':
    case 'userEvents':
    case 'orderUpdates': {
      const { user } = value
      return isUser(user) ? valid({ type, user }) : { kind: 'unparsable' }
    }
    default:
      return { kind: 'unparsable' }
  }
}

export function isUser(value: unknown): value is string {
  return typeof value === 'string' && USER.test(value)
}

function parseBook(coin: string, value: Readonly<Record<string, unknown>>): ParsedSubscription {
  const { nSigFigs = null, mantissa = null, fast = false } = value
  if (typeof fast !== 'boolean') return { kind: 'unparsable' }
  if (nSigFigs !== null && typeof nSigFigs !== 'number') return { kind: 'unparsable' }
  if (mantissa !== null && typeof mantissa !== 'number') return { kind: 'unparsable' }
  if (!areFigures(nSigFigs)) return { kind: 'fatal' }
  if (!isMantissa(mantissa, nSigFigs)) return { kind: 'invalid' }
  return valid({ type: 'l2Book', coin, nSigFigs, mantissa, fast })
}

/** Whether the venue has books with this number of significant figures. */
export function areFigures(nSigFigs: number | null): boolean {
  if (nSigFigs === null) return true
  return Number.isInteger(nSigFigs) && nSigFigs >= figuresMin && nSigFigs <= figuresMax
}

export function isMantissa(mantissa: number | null, nSigFigs: number | null): boolean {
  return mantissa === null || (nSigFigs === figuresMax && mantissas.includes(mantissa))
}

function valid(subscription: Subscription): ParsedSubscription {
  return { kind: 'valid', subscription }
}
