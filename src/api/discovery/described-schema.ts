import type { JsonSchema } from './published-schema.ts'

/** Short forms for schemas of members with a description. */
export const textSchema = (description: string): JsonSchema => ({ type: 'string', description })

export const textsSchema = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
})

export const flagSchema = (description: string): JsonSchema => ({ type: 'boolean', description })

export const nullableSchema = (type: 'string' | 'integer' | 'boolean', description: string) =>
  ({ type: [type, 'null'], description }) satisfies JsonSchema

export const percentSchema = (description: string): JsonSchema => ({
  type: 'number',
  description,
  'x-unit': 'percent',
})

export const countSchema = (description: string): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  'x-unit': 'count',
})

export const nullableSecondsSchema = (description: string): JsonSchema => ({
  type: ['integer', 'null'],
  minimum: 0,
  description,
  'x-unit': 'seconds',
})

export const instantSchema: JsonSchema = {
  type: 'string',
  format: 'date-time',
  description: 'UTC, ISO 8601.',
}

/** An object without other members; all are required unless `optional` names them. */
export function closedObject(
  properties: Readonly<Record<string, JsonSchema>>,
  more: { readonly description?: string; readonly optional?: readonly string[] } = {},
): JsonSchema {
  const { optional = [], ...rest } = more
  return {
    type: 'object',
    ...rest,
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  }
}

export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
