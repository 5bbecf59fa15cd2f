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
    parameters.map(({ name, schema, description }) => [
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
    outputSchema: answerOrQuote(outline(offer.compactSchema)),
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

/** Clients hold what an unpaid call gets, which is the quote, against the same schema. */
function answerOrQuote({ properties, required, ...answer }: JsonSchema): JsonSchema {
  return {
    ...answer,
    properties: { ...properties, x402Version: { type: 'integer' }, accepts: { type: 'array' } },
    anyOf: [{ required: required ?? [] }, { required: ['x402Version', 'accepts'] }],
  }
}

/** Many answers have them, with the same members. */
const COMMON_MEMBERS = ['meta', 'dex']

/**
 * Two levels of the schema, and one of what many have in common: enough to know where to look, for a
 * tenth of the tokens. It allows more than the schema, and nothing less.
 */
function outline(schema: JsonSchema, levels = 2): JsonSchema {
  const { type, enum: values, properties, required } = schema
  const open: JsonSchema = {
    ...(type !== undefined && { type }),
    ...(values !== undefined && { enum: values }),
  }
  if (properties === undefined || levels === 0) return open
  return {
    ...open,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [
        name,
        outline(member, COMMON_MEMBERS.includes(name) ? 0 : levels - 1),
      ]),
    ),
    ...(required !== undefined && { required }),
  }
}

/** Lists are joined; anything else is for the path's own checks to refuse. */
function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
