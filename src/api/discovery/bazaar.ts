import type { AnalysisOffer, OfferedParameter } from './analysis-offer.ts'
import type { JsonSchema } from './published-schema.ts'
import { sampleAnswer } from './samples.ts'

/** Members of the example; the complete sample is at /sample. */
const SHOWN = ['coin', 'token', 'timestamp_iso']

/**
 * The `bazaar` extension of a quote, from which facilitators build their catalogues: `info` is an example of call and
 * answer, `schema` describes both. It is part of a header of every quote, so it is short.
 */
export function bazaarOf(offer: AnalysisOffer): Readonly<Record<'bazaar', unknown>> {
  const ofPath = offer.parameters.filter((parameter) => parameter.in === 'path')
  const ofQuery = offer.parameters.filter((parameter) => parameter.in === 'query')
  const pathParams = ofPath.length > 0
  return {
    bazaar: {
      info: {
        input: {
          type: 'http',
          method: 'GET',
          ...(pathParams && { pathParams: { [offer.pathParameter]: ofPath[0]?.example } }),
        },
        output: { type: 'json', example: excerpt(offer) },
      },
      schema: {
        type: 'object',
        properties: {
          input: {
            type: 'object',
            properties: {
              type: { const: 'http' },
              method: { const: 'GET' },
              ...(pathParams && {
                pathParams: schemas(ofPath.map((one) => ({ ...one, name: offer.pathParameter }))),
              }),
              queryParams: schemas(ofQuery),
            },
            required: ['type', 'method'],
          },
          output: {
            type: 'object',
            properties: { type: { const: 'json' }, example: { type: 'object' } },
          },
        },
        required: ['input'],
      },
      ...(pathParams && { routeTemplate: offer.template.replace(/{(\w+)}/, ':$1') }),
    },
  }
}

/** Types only; bounds and descriptions are in the OpenAPI document. */
function schemas(parameters: readonly OfferedParameter[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, schema: { type, enum: words } }) => [
        name,
        words === undefined || words.length > 3 ? { type: type ?? 'string' } : { enum: words },
      ]),
    ),
  }
}

function excerpt({ id }: AnalysisOffer): Readonly<Record<string, unknown>> {
  const sample = Object.entries(sampleAnswer(id))
  return Object.fromEntries(sample.filter(([name]) => SHOWN.includes(name)))
}
