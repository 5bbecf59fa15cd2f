import type { AnalysisOffer } from '../discovery/offer-of.ts'
import type { JsonSchema } from '../discovery/published-schema.ts'

/** One tool: what a model reads of it, and the path that its call becomes. */
export type AnalysisTool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema
  /** Path and query for a call's arguments, as they came. */
  readonly urlOf: (args: Readonly<Record<string, unknown>>) => string
}

/** A model reads every word of a tool: what it does not need to choose and to call is left to /openapi.json. */
export function toolOf(offer: AnalysisOffer): AnalysisTool {
  const parameters = offer.parameters.filter(({ name }) => name !== 'fields')
  const properties = Object.fromEntries(
    parameters.map(({ name, schema: { minLength: _, maxLength: __, ...schema }, description }) => [
      name,
      { ...schema, description, ...(name === 'view' && { default: 'compact' }) },
    ]),
  )
  const isCompactable = parameters.some(({ name }) => name === 'view')
  return {
    name: offer.name,
    title: offer.title,
    description: offer.description,
    inputSchema: {
      type: 'object',
      properties,
      required: parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name),
      additionalProperties: false,
    },
    outputSchema: outline(offer.compactSchema),
    urlOf: (args) => {
      // JSON may hold half of a surrogate pair, which no URL can: no coin is called like what stands for it.
      const coin = encodeURIComponent(text(args['coin'] ?? '').toWellFormed())
      const path = offer.path.replace('{coin}', () => coin)
      const query = new URLSearchParams(isCompactable ? { view: 'compact' } : {})
      for (const [name, value] of Object.entries(args))
        if (name !== 'coin' || path === offer.path) query.set(name, text(value))
      return query.size === 0 ? path : `${path}?${query}`
    },
  }
}

/** What every answer has, so that it is not taken for a quote. */
const ANSWER_MEMBERS = ['timestamp_iso', 'meta']
const QUOTE_MEMBERS = ['x402Version', 'accepts']

/**
 * The members that an answer always has, with their types: enough to know where to look. Clients hold what they get against it, also
 * what an unpaid call gets, which is the quote.
 */
function outline({ properties = {}, required = [] }: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      required.map((name) => {
        const type = properties[name]?.type
        return [name, type === undefined ? {} : { type }]
      }),
    ),
    anyOf: [{ required: ANSWER_MEMBERS }, { required: QUOTE_MEMBERS }],
  }
}

/** Lists are joined; anything else is for the path's own checks to refuse. */
function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
