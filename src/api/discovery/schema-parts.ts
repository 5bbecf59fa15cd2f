import type { JsonSchema } from './published-schema.ts'

/** Members that every compact answer omits at any depth. */
export const compactOmitsAlways: ReadonlySet<string> = new Set([
  'interpretation',
  'history',
  'sources',
])

/** Whether a dotted path names a member; it passes through lists and through maps. */
export function hasPath(schema: JsonSchema, path: readonly string[]): boolean {
  const [name, ...rest] = path
  if (name === undefined) return true
  const items = [schema.items, ...(schema.prefixItems ?? [])].filter(isSchema)
  if (items.some((item) => hasPath(item, path))) return true
  if (schema.anyOf?.some((one) => hasPath(one, path))) return true
  const member = ownMember(schema.properties, name) ?? schema.additionalProperties
  return isSchema(member) && hasPath(member, rest)
}

/** Names of the members below a dotted path; through lists, maps and alternatives. */
export function memberNames(schema: JsonSchema, path: readonly string[] = []): string[] {
  const inner = [schema.items, ...(schema.prefixItems ?? []), ...(schema.anyOf ?? [])]
  const below = inner.filter(isSchema).flatMap((one) => memberNames(one, path))
  const [name, ...rest] = path
  if (name === undefined) return [...new Set([...Object.keys(schema.properties ?? {}), ...below])]
  const member = ownMember(schema.properties, name) ?? schema.additionalProperties
  return [...new Set([...below, ...(isSchema(member) ? memberNames(member, rest) : [])])]
}

/** The schema of the compact view. */
export function compactSchema(
  schema: JsonSchema,
  omits: readonly string[] | undefined,
): JsonSchema {
  return without(
    schema,
    (omits ?? []).map((path) => path.split('.')),
  )
}

function without(schema: JsonSchema, paths: readonly (readonly string[])[]): JsonSchema {
  const { properties, required, items, anyOf, additionalProperties, ...rest } = schema
  const isOmitted = (name: string) =>
    compactOmitsAlways.has(name) ||
    paths.some(([first, ...more]) => first === name && more.length === 0)
  const kept = Object.entries(properties ?? {}).filter(([name]) => !isOmitted(name))
  const below = (name: string) =>
    paths.filter(([first]) => first === name).map(([, ...more]) => more)
  return {
    ...rest,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        kept.map(([name, member]) => [name, without(member, below(name))]),
      ),
    }),
    ...(required !== undefined && { required: required.filter((name) => !isOmitted(name)) }),
    ...(items !== undefined && { items: isSchema(items) ? without(items, paths) : items }),
    ...(anyOf !== undefined && { anyOf: anyOf.map((one) => without(one, paths)) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: isSchema(additionalProperties)
        ? without(additionalProperties, [])
        : additionalProperties,
    }),
  }
}

function isSchema(schema: JsonSchema | false | undefined): schema is JsonSchema {
  return schema !== undefined && schema !== false
}

/** Own members only: a caller may name `constructor`. */
function ownMember<Value>(members: Readonly<Record<string, Value>> | undefined, name: string) {
  return members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined
}
