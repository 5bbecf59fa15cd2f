import type { FastifyRequest } from 'fastify'
import type { AnalysisContract } from '../domain/contract.ts'
import { pathParameterOf, viewKeyOf } from '../domain/contract.ts'
import { tickerName } from '../domain/listing.ts'
import type { AbsentFields, Selection, SelectionFault } from './answer-selection.ts'
import { queryParametersOf, selectionReader } from './answer-selection.ts'
import type { Refusal } from './send-problem.ts'
import { refusal } from './send-problem.ts'
import { unknownQueryParameter } from './unknown-parameter.ts'

/** Path and query of a call, parsed. */
type AnalysisRequest = {
  readonly kind: 'request'
  /** By the caller's spelling; '' for an analysis of the whole market. */
  readonly ticker: string
  readonly view: string
  /** The requested part of the view; null for all of it. */
  readonly selection: Selection | null
}

/** What a call consists of, whatever carries it. */
export type CallParts = Pick<FastifyRequest, 'params' | 'query'>

export type RequestReader = (request: CallParts) => AnalysisRequest | Refusal

const COIN_CHARACTERS_MAX = 64

/** Parses the calls of one analysis. It needs no engine, so its result does not depend on time. */
export function requestReader(
  contract: AnalysisContract,
  absentFields: AbsentFields = 'refused',
): RequestReader {
  const readView = viewReader(contract, queryParametersOf(contract), absentFields)
  return (request) => {
    const viewed = readView(request)
    if (viewed.kind === 'refusal') return viewed
    const ticker =
      contract.scope === 'market' ? '' : (request.params as { readonly coin: string }).coin
    if (ticker.length > COIN_CHARACTERS_MAX) {
      return refusal('invalid_coin', {
        detail: `A ticker has at most ${COIN_CHARACTERS_MAX} characters. GET /coins lists all tickers.`,
        param: pathParameterOf(contract),
      })
    }
    return { kind: 'request', ticker, view: viewed.view, selection: viewed.selection }
  }
}

/** Parses a call of `/sample/{analysis}`, which takes `view` and `fields` only. */
export function sampleRequestReader(contract: AnalysisContract) {
  return viewReader(contract, ['view', 'fields'], 'refused')
}

type ViewRequest = Omit<AnalysisRequest, 'ticker'>

function viewReader(
  contract: AnalysisContract,
  known: readonly string[],
  absentFields: AbsentFields,
) {
  const selectionOf = selectionReader(contract, known, absentFields)
  return (request: CallParts): ViewRequest | Refusal => {
    const unknown = unknownQueryParameter(request.query, known)
    if (unknown !== null) return unknown
    const view = viewOf(contract, request)
    if (typeof view !== 'string') return view
    const query = { fields: once(request, 'fields'), view: once(request, 'view') }
    const selection = selectionOf(query, view)
    if (selection !== null && 'rule' in selection) return unselectable(request, selection)
    return { kind: 'request', view, selection }
  }
}

/**
 * The same name for all spellings of a call for one document; null for invalid parameters. `S` and `SUSD` share a name
 * even where both are listed: with the list of coins, a listing or a restart could refuse a payment that was charged.
 */
export function documentNames(contract: AnalysisContract) {
  // What is refused now may have been sold by an earlier version.
  const read = requestReader(contract, 'taken')
  return (request: CallParts): string | null => {
    const asked = read(request)
    if (asked.kind === 'refusal') return null
    const { ticker, view, selection } = asked
    // `1000PEPE` is the venue's `kPEPE`, in the same unit.
    const name = tickerName(ticker).replace(/^1000(?=[A-Z0-9]+$)/, 'K')
    return JSON.stringify([contract.id, name, view, selection?.key ?? ''])
  }
}

function viewOf(contract: AnalysisContract, request: CallParts): string | Refusal {
  const view = viewKeyOf(contract, (name) => once(request, name))
  if (typeof view === 'string') return view
  const { name, problem, allowed } = view
  return refusal(problem, { detail: detailOf(request, view), param: name, allowed })
}

function unselectable(request: CallParts, fault: SelectionFault): Refusal {
  const { name, allowed, didYouMean } = fault
  return refusal('invalid_parameter', {
    detail: detailOf(request, fault),
    param: name,
    allowed,
    ...(didYouMean && { didYouMean }),
  })
}

type Rule = { readonly name: string; readonly rule: string }

function detailOf(request: CallParts, { name, rule }: Rule): string {
  return once(request, name) === null
    ? `${name} may occur only once. ${name} ${rule}.`
    : `${name} ${rule}.`
}

/** The raw value of a query parameter; null if it occurs more than once. */
function once(request: CallParts, name: string): string | null | undefined {
  const query = request.query as Readonly<Record<string, string | string[] | undefined>>
  const raw = query[name]
  return Array.isArray(raw) ? null : raw
}
