import type { JsonSchema } from './published-schema.ts'
import { unitInName } from './published-schema.ts'
import { mapInner } from './shared-schemas.ts'

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'minItems', 'maxItems']
const LEFT_OUT = new Set(['description', 'x-unit', ...BOUNDS])

/**
 * The form of a schema: types, closed lists, what is required and what may be null, without descriptions and bounds.
 * A unit stays where neither the name of its member nor its type says it.
 */
export function briefSchema(schema: JsonSchema, name = ''): JsonSchema {
  const unit = schema['x-unit']
  const isSaid = unit === undefined || unit === unitInName(name) || unit === 'count'
  const form = Object.fromEntries(Object.entries(schema).filter(([key]) => !LEFT_OUT.has(key)))
  return mapInner(isSaid ? form : { ...form, 'x-unit': unit }, briefSchema, name)
}
