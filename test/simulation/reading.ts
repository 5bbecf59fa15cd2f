import { fillDocument } from '../../src/api/fill-document.ts'
import { loadBearingAgeMs, overdue } from '../../src/api/freshness.ts'
import type { AnalysisContract } from '../../src/domain/contract.ts'
import { keyOf } from '../../src/domain/contract.ts'
import type { Document, NoAnswer } from '../../src/domain/document.ts'
import { viewOf } from '../../src/domain/document.ts'
import type { Service } from './service.ts'

/** The response to a caller of one analysis at one instant. */
export type Reading = Answered | Refused | Unreadable

export type Answered = {
  readonly kind: 'answered'
  readonly analysis: string
  readonly coin: string
  readonly view: string
  readonly trueMs: number
  /** Local time of the service. */
  readonly localMs: number
  readonly document: Document
  readonly text: string
  readonly body: Body
}

type Refused = {
  readonly kind: 'refused'
  readonly reason: string
  /** Set if the document states that there is no answer. */
  readonly noAnswer?: NoAnswer
}

/** Invalid JSON. */
export type Unreadable = {
  readonly kind: 'unreadable'
  readonly analysis: string
  readonly coin: string
  readonly text: string
}

/** The members of an answer that the simulation reads; its schema is checked separately. */
export type Body = {
  readonly coin: string
  /** An object in a pulse, a number in other answers. */
  readonly price?: { readonly current: number } | number
  readonly timeframes?: Readonly<Record<string, TimeframeBody>>
  readonly derivatives?: Readonly<Record<string, number | null>>
  readonly mid_price?: number
  readonly mark_price?: number
  readonly oi?: { readonly current: number; readonly notional_usd: number }
  readonly funding?: { readonly current_rate: number; readonly history: readonly SettledRow[] }
  readonly spread?: SpreadBody
  readonly meta: {
    readonly data_age_seconds: number
    readonly warnings: readonly string[]
    readonly quality: { readonly grade: string }
    readonly as_of: Readonly<Record<string, string>>
  }
}

export type TimeframeBody = {
  readonly indicators: { readonly ema_200: number | null }
  readonly bars: number
  readonly bars_is_whole_history: boolean
  readonly candle_freshness_seconds: number
}

/** An hour of funding. */
export type SettledRow = {
  readonly timestamp_iso: string
  readonly rate: number
  readonly settled: boolean
}

export type SpreadBody = {
  readonly best_bid: number
  readonly best_ask: number
  readonly bid_ask_bps: number
  readonly impact_bid: number | null
  readonly impact_ask: number | null
  readonly imbalance: number | null
  readonly imbalance_reach_bps: number
  readonly depth: Readonly<Record<string, number>>
  readonly slippage: readonly {
    readonly notional_usd: number
    readonly buy_bps: number | null
    readonly sell_bps: number | null
    readonly method: string
  }[]
}

/** Same code and order as the gateway's route, without HTTP. */
export function read(
  { replica, machine, nowMs }: Service,
  contract: AnalysisContract,
  ticker: string,
  view: string,
): Reading {
  const state = replica.state(nowMs)
  if (state !== 'available') return { kind: 'refused', reason: state }
  const coin = replica.resolve(ticker)?.coin
  if (coin === undefined) return { kind: 'refused', reason: 'unknown coin' }
  const document = replica.document(keyOf(contract, coin))
  const answer = document && viewOf(document, view)
  if (document === undefined || answer === undefined)
    return { kind: 'refused', reason: 'no document' }
  if (answer.kind !== 'answer') return { kind: 'refused', reason: answer.kind, noAnswer: answer }
  const ageMs = loadBearingAgeMs(document, answer, nowMs)
  if (ageMs === Number.POSITIVE_INFINITY) return { kind: 'refused', reason: 'of unknown age' }
  if (overdue(document, answer, contract.inputAgeMsMax, nowMs) !== null)
    return { kind: 'refused', reason: 'stale' }
  const text = fillDocument(document, answer, {
    nowMs,
    executionMs: 0.1,
    coinsAvailable: replica.coins().length,
  }).toString('utf8')
  const body = parsed(text)
  if (body === null) return { kind: 'unreadable', analysis: contract.id, coin, text }
  return {
    kind: 'answered',
    analysis: contract.id,
    coin,
    view,
    trueMs: machine.kernel.nowMs,
    localMs: nowMs,
    document,
    text,
    body,
  }
}

function parsed(text: string): Body | null {
  try {
    return JSON.parse(text) as Body
  } catch {
    return null
  }
}

/** Stated age of an input, as a reader would compute it; never negative. */
export function statedAgeMs({ localMs, body }: Answered, input: string): number | undefined {
  const asOf = body.meta.as_of[input]
  return asOf === undefined ? undefined : Math.max(0, localMs - Date.parse(asOf))
}
