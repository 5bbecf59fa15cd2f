import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { sampleRequestReader } from '../analysis-request.ts'
import { selectAnswer } from '../answer-selection.ts'
import type { FreeDocument } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import type { Refusal } from '../send-problem.ts'
import { sendProblem, sendRefusal } from '../send-problem.ts'
import type { JsonSchema } from './published-schema.ts'
import { publishedSchema } from './published-schema.ts'
import type { Sample } from './samples.ts'
import { sampleAnswer } from './samples.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** Selected parts, which are compressed as thoroughly as documents that are sent often. */
const PARTS_KEPT_MAX = 32

type Parts = BoundedMap<string, FreeDocument>

/** `/sample/{analysis}`: a complete sample answer, or the part that `view` and `fields` select. */
export function sampleRoutes(app: FastifyInstance, contracts: readonly AnalysisContract[]): void {
  const parts: Parts = new BoundedMap(PARTS_KEPT_MAX)
  const samples = new Map(contracts.map((contract) => [contract.id, sampleReader(contract, parts)]))
  app.get('/sample/:analysis', (request, reply) => {
    const { analysis } = request.params as { readonly analysis: string }
    const sample = samples.get(analysis)?.(request)
    if (sample === undefined)
      sendProblem(reply, 'not_found', {
        detail: 'No analysis has this name. allowed lists all analyses.',
        param: 'analysis',
        allowed: [...samples.keys()],
      })
    else if ('kind' in sample) sendRefusal(reply, sample)
    else sendDocument(request, reply, sample)
  })
}

function sampleReader(contract: AnalysisContract, parts: Parts) {
  const sample = sampleAnswer(contract.id)
  const whole = freeDocument(JSON_TYPE, JSON.stringify(sample))
  const short = withShortRows(sample, publishedSchema(contract.document))
  const read = sampleRequestReader(contract)
  return (request: FastifyRequest): FreeDocument | Refusal => {
    const asked = read(request)
    if (asked.kind === 'refusal') return asked
    const { view, selection } = asked
    if (view === contract.defaultView && selection === null) return whole
    const key = JSON.stringify([contract.id, view, selection?.key])
    const kept = parts.get(key)
    if (kept !== undefined) return kept
    const answer = view === contract.defaultView ? sample : short
    const chosen = selection === null ? answer : selectAnswer(answer, selection)
    const part = freeDocument(JSON_TYPE, JSON.stringify(chosen))
    parts.set(key, part)
    return part
  }
}

/** `view=compact` of an analysis with its own short rows: each row keeps the members that all row types have. */
function withShortRows(sample: Sample, { properties = {} }: JsonSchema): Sample {
  const shortened = Object.entries(sample).map(([name, value]) => {
    const items = properties[name]?.items
    const kinds = items ? (items.anyOf ?? []) : []
    const isShort = ([member]: readonly [string, unknown]) =>
      kinds.every(({ properties: own = {} }) => Object.hasOwn(own, member))
    const shortRow = (row: object) => Object.fromEntries(Object.entries(row).filter(isShort))
    return [name, kinds.length > 1 && Array.isArray(value) ? value.map(shortRow) : value]
  })
  return Object.fromEntries(shortened)
}
