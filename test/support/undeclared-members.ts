import type { TSchema } from 'typebox'
import type { JsonSchema } from '../../src/api/discovery/published-schema.ts'
import { publishedSchema } from '../../src/api/discovery/published-schema.ts'

/** Paths of members of an answer that its schema does not declare. */
export function undeclaredMembers(schema: TSchema, answer: unknown): readonly string[] {
  return [...undeclared([publishedSchema(schema)], answer, '')]
}

function* undeclared(
  schemas: readonly JsonSchema[],
  value: unknown,
  path: string,
): Generator<string> {
  const all = schemas.flatMap((schema) => [schema, ...(schema.anyOf ?? [])])
  if (Array.isArray(value)) {
    const items = all.flatMap(({ items: one, prefixItems = [] }) => (one ? [one] : prefixItems))
    for (const item of value) yield* undeclared(items, item, `${path}[]`)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const below = all.flatMap(({ properties, additionalProperties }) => {
      const named = properties?.[name] ?? additionalProperties
      return named ? [named] : []
    })
    if (below.length === 0) yield `${path}.${name}`
    else yield* undeclared(below, member, `${path}.${name}`)
  }
}
