import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { Extensions } from '../payment/extensions/extensions.ts'
import type { SalesReadiness } from '../payment/sales-readiness.ts'
import type { PaidRoute } from '../payment/terms.ts'
import { answerTag, callReader, findAnswer } from './analysis-call.ts'
import { documentNames } from './analysis-request.ts'
import { previewOf } from './answer-preview.ts'
import type { AnalysisOffer, OfferedParameter } from './discovery/analysis-offer.ts'
import { offerOf } from './discovery/analysis-offer.ts'
import { bazaarOf } from './discovery/bazaar.ts'
import type { MaintenanceState } from './maintenance-switch.ts'

export type ServiceReadiness = {
  /** While the clock is off, no answer has the best grade. */
  isClockOff(): boolean
  /** null for a service that gives its answers away. */
  readonly sales: SalesReadiness | null
}

export type PaidRouteOptions = {
  readonly engine: EngineReader
  readonly maintenance: MaintenanceState
  readonly clock: Clock
  readonly exampleCoin: string
  readonly readiness?: ServiceReadiness
}

/** What the payment plugin needs to quote and sell one analysis. */
export function paidRoute(
  contract: AnalysisContract,
  options: PaidRouteOptions & { readonly isFree: boolean },
): PaidRoute {
  const offer = offerOf(contract, { exampleCoin: options.exampleCoin })
  const bazaar = bazaarOf(offer)
  return {
    priceUsdcAtomic: contract.priceUsdcAtomic,
    description: contract.summary,
    discovery: { pathParams: described(offer, 'path'), queryParams: described(offer, 'query') },
    catalogued: bazaar,
    extensionsOf: withPreview(bazaar, options),
    entityTagOf: currentTag(contract, options),
    documentOf: documentNames(contract),
  }
}

function described({ parameters, pathParameter }: AnalysisOffer, place: OfferedParameter['in']) {
  const placed = parameters.filter((parameter) => parameter.in === place)
  return Object.fromEntries(
    placed.map(({ name, description }) => [name === 'coin' ? pathParameter : name, description]),
  )
}

/** The extensions of a quote: one object for as long as the preview does not change. */
function withPreview(bazaar: Extensions, options: PaidRouteOptions) {
  const held = new WeakMap<Extensions, Extensions>()
  return (request: FastifyRequest): Extensions => {
    const preview = previewOfCall(request, options)
    const known = held.get(preview)
    const extensions = known ?? { ...preview, ...bazaar }
    if (known === undefined) held.set(preview, extensions)
    return extensions
  }
}

const noPreview: Extensions = {}

/** Empty when a stored payment is refused before the call is read. */
function previewOfCall(
  request: FastifyRequest,
  { clock, readiness }: PaidRouteOptions,
): Extensions {
  const call = request.analysisCall
  if (call === null || call.found === null) return noPreview
  const { document, answer } = call.found
  const previewed = { document, answer, etag: answerTag(document, answer, call) }
  return previewOf(previewed, clock.nowMs(), readiness?.isClockOff() ?? false)
}

/** Entity tag of the answer that a call would buy now, also before its parameters are checked; null for none. */
function currentTag(
  contract: AnalysisContract,
  options: PaidRouteOptions & { readonly isFree: boolean },
) {
  const { clock, engine, maintenance } = options
  const read = callReader(contract, options)
  return (request: FastifyRequest): string | null => {
    if (maintenance.isOn) return null
    const nowMs = clock.nowMs()
    const call = read(request, nowMs)
    if (call.kind === 'refusal') return null
    const found = findAnswer(contract, call, engine, nowMs)
    return found.kind === 'refusal' ? null : answerTag(found.document, found.answer, call)
  }
}
