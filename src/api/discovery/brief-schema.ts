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
  const form = Object.fromEntries(Object.entries(schema).filter(([key]) => !LEFT_OUT.has(key)))
  return mapInner(isImplied ? form : { ...form, 'x-unit': unit }, briefSchema, name)
}
