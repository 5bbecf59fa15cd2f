import type { JsonSchema } from './published-schema.ts'
import { unitInName } from './published-schema.ts'
import { mapInner } from './shared-schemas.ts'

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'minItems', 'maxItems']
const LEFT_OUT = new Set(['description', 'x-unit', ...BOUNDS])

/**
 * Types, enums, required members and nullability of a schema, without descriptions and bounds. `x-unit` is kept unless
 * the member's name or type implies it.
 */
export function briefSchema(schema: JsonSchema, name = ''): JsonSchema {
  const unit = schema['x-unit']
  const isImplied = unit === undefined || unit === unitInName(name) || unit === 'count'
  // The words of an enum have their type.
  const isEnum = schema.enum !== undefined || schema.const !== undefined
  const form = Object.fromEntries(
    Object.entries(schema).filter(([key]) => !LEFT_OUT.has(key) && !(isEnum && key === 'type')),
  )
  return mapInner(isImplied ? form : { ...form, 'x-unit': unit }, briefSchema, name)
}

/** The members of a document, without what its lists contain. */
export function outlineSchema({ type, properties = {}, required }: JsonSchema): JsonSchema {
  const members = Object.entries(properties).map(([name, { type: ofMember }]) => [
    name,
    ofMember === undefined ? {} : { type: ofMember },
  ])
  return {
    type: type ?? 'object',
    properties: Object.fromEntries(members),
    required: required ?? [],
  }
}
