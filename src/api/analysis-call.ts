import type { FastifyRequest } from 'fastify'
import type { AnalysisContract } from '../domain/contract.ts'
import { keyOf } from '../domain/contract.ts'
import type { Answer, Document, DocumentKey } from '../domain/document.ts'
import { viewOf } from '../domain/document.ts'
import { unscaledToken } from '../domain/listing.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import { hasPayment } from '../payment/payload.ts'
import { absentFields } from './absent-fields.ts'
import {
  engineRefusal,
  noAnswer,
  notComputed,
  tooOld,
  unknownAge,
  unknownCoin,
} from './analysis-refusals.ts'
import type { CallParts } from './analysis-request.ts'
import { requestReader } from './analysis-request.ts'
import type { Selection } from './answer-selection.ts'
import type { RequestedCoin } from './fill-document.ts'
import { loadBearingAgeMs, overdue } from './freshness.ts'
import type { Refusal } from './send-problem.ts'

/** A call of an analysis with valid parameters. */
export type AnalysisCall = {
  readonly kind: 'call'
  /** By the venue's spelling; '' for an analysis of the whole market. */
  readonly coin: string
  readonly key: DocumentKey
  readonly view: string
  /** The requested part of the view; null for all of it. */
  readonly selection: Selection | null
  readonly requested: RequestedCoin | undefined
  readonly receivedAtMs: number
  /** The answer that was available at that instant. */
  found: FoundAnswer | null
}

export type FoundAnswer = {
  readonly kind: 'found'
  readonly document: Document
  readonly answer: Answer
}

export type CallReaderOptions = {
  readonly engine: EngineReader
  /** Stands for a literal `{coin}`, which indexers take from the published path templates. */
  readonly exampleCoin: string
  readonly isFree: boolean
}

type CallRequest = CallParts & Pick<FastifyRequest, 'headers'>

/** Both forms of `{coin}`: the router decodes the percent-encoded one. */
const COIN_PLACEHOLDER = /^\{(coin|token)\}$/

/** Reads the calls of one analysis, or says why a call is invalid. */
export function callReader(contract: AnalysisContract, options: CallReaderOptions) {
  const read = requestReader(contract)
  return (request: CallRequest, nowMs: number): AnalysisCall | Refusal => {
    const asked = read(request)
    if (asked.kind === 'refusal') return asked
    const named =
      contract.scope === 'market'
        ? wholeMarket
        : coinNamed(contract, asked.ticker, request, nowMs, options)
    if (named.kind === 'refusal') return named
    return {
      kind: 'call',
      coin: named.coin,
      key: keyOf(contract, named.coin),
      view: asked.view,
      selection: asked.selection,
      requested: named.requested,
      receivedAtMs: nowMs,
      found: null,
    }
  }
}

type NamedCoin = Pick<AnalysisCall, 'coin' | 'requested'> & { readonly kind: 'named' }

const wholeMarket: NamedCoin = { kind: 'named', coin: '', requested: undefined }

function coinNamed(
  contract: AnalysisContract,
  ticker: string,
  request: CallRequest,
  nowMs: number,
  { engine, exampleCoin, isFree }: CallReaderOptions,
): NamedCoin | Refusal {
  if (COIN_PLACEHOLDER.test(ticker) && !isFree && !hasPayment(request.headers)) {
    const coin = engine.resolve(exampleCoin)?.coin ?? engine.coins()[0]
    if (coin !== undefined) return { kind: 'named', coin, requested: undefined }
  }
  const resolved = engine.resolve(ticker)
  // Without an engine the list of coins may be outdated or empty, so "unknown coin" may be wrong.
  if (resolved === undefined)
    return engineRefusal(engine, nowMs) ?? unknownCoin(contract, ticker, engine.coins())
  const { coin, unitMultiplier } = resolved
  const token = unscaledToken(coin)
  const requested =
    token === undefined || unitMultiplier === undefined
      ? undefined
      : { ticker: token, unitMultiplier }
  return { kind: 'named', coin, requested }
}

/** The answer to a call at one instant, or why there is none. */
export function findAnswer(
  contract: AnalysisContract,
  call: AnalysisCall,
  engine: EngineReader,
  nowMs: number,
): FoundAnswer | Refusal {
  const refused = engineRefusal(engine, nowMs)
  if (refused !== null) return refused
  const document = engine.document(call.key)
  const view = document && viewOf(document, call.view)
  if (document === undefined || view === undefined) return notComputed(contract, call.coin)
  const subject = call.coin || 'the market'
  if (view.kind !== 'answer') return noAnswer(contract, view, subject, nowMs)
  if (loadBearingAgeMs(document, view, nowMs) === Number.POSITIVE_INFINITY) return unknownAge()
  const late = overdue(document, view, contract.inputAgeMsMax, nowMs)
  if (late !== null) return tooOld(late, subject)
  const { selection, requested } = call
  const absent = selection && absentFields(document, view, selection, { nowMs, requested })
  return absent ?? { kind: 'found', document, answer: view }
}

/** Cached per answer: formatting the version number costs as much as two headers. */
const entityTags = new WeakMap<Answer, string>()

/** Entity tag of the requested part of an answer. Commas of the view key become dots: some readers of `If-None-Match` split at commas. */
export function answerTag(
  { version }: Document,
  answer: Answer,
  { view, selection }: Pick<AnalysisCall, 'view' | 'selection'>,
): string {
  const held = entityTags.get(answer)
  const whole = held ?? `"${version}-${view.replaceAll(',', '.')}"`
  if (held === undefined) entityTags.set(answer, whole)
  return selection === null ? whole : `${whole.slice(0, -1)}-${selection.key}"`
}
