import type { DocumentContract } from '../../domain/contract.ts'
import type { JsonSchema } from '../discovery/published-schema.ts'
import { publishedSchema } from '../discovery/published-schema.ts'

/** Descriptions by the path of a member: `spread.slippage[].buy_bps`, `*` for any key. */
type Definitions = Readonly<Record<string, string>>

/** What each member of each answer means, in the words of its schema. */
export function definitions(
  contracts: readonly DocumentContract[],
): Readonly<Record<string, Definitions>> {
  return Object.fromEntries(
    contracts.map(({ id, document }) => {
      const found = new Map<string, string>()
      collect(publishedSchema(document), '', found)
      return [id, Object.fromEntries(found)]
    }),
  )
}

function collect(schema: JsonSchema, path: string, found: Map<string, string>): void {
  const { description, properties = {}, additionalProperties, items, anyOf = [] } = schema
  if (description !== undefined && path !== '' && !found.has(path)) found.set(path, description)
  for (const [name, member] of Object.entries(properties))
    collect(member, path === '' ? name : `${path}.${name}`, found)
  if (additionalProperties) collect(additionalProperties, `${path}.*`, found)
  if (items) collect(items, `${path}[]`, found)
  for (const alternative of anyOf) collect(alternative, path, found)
}
