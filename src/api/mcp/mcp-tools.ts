import type { AnalysisOffer } from '../discovery/analysis-offer.ts'
import type { JsonSchema } from '../discovery/published-schema.ts'

/** One MCP tool, and the HTTP call that it becomes. */
export type AnalysisTool = Pick<
  AnalysisOffer,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema'
> & {
  /** Path and query for the arguments of a call. */
  readonly urlOf: (args: Readonly<Record<string, unknown>>) => string
}

/** A model reads the whole list, so a tool has only what is needed to choose and call it; the rest is in /openapi.json. */
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
      // JSON may have a lone surrogate, which no URL can encode. A URL takes `.` and `..` for its own folders, and with
      // an empty segment it is another path.
      const named = text(args['coin'] ?? '').toWellFormed()
      const coin = encodeURIComponent(/^\.{0,2}$/.test(named) ? `${named} ` : named)
      const isShort = isCompactable && !Object.hasOwn(args, 'fields')
      const path = offer.path.replace('{coin}', () => coin)
      const query = new URLSearchParams(isShort ? { view: 'compact' } : {})
      for (const [name, value] of Object.entries(args))
        if (name !== 'coin' || path === offer.path) query.set(name, text(value))
      return query.size === 0 ? path : `${path}?${query}`
    },
  }
}

/** Members that tell an answer from a quote. */
const ANSWER_MEMBERS = ['timestamp_iso', 'meta']
const QUOTE_MEMBERS = ['x402Version', 'accepts']

/** The required members of an answer with their types. Clients validate results against it, quotes of unpaid calls too. */
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

/** Lists are joined by commas; the checks of the path refuse other values. */
function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
