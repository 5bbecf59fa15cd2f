import type { JsonSchema } from './published-schema.ts'
import { possibleKeys } from './published-schema.ts'

/** Members that every compact answer omits at any depth. */
export const compactOmitsAlways: ReadonlySet<string> = new Set([
  'interpretation',
  'history',
  'sources',
])

/** Whether a dotted path names a member; it passes through lists and through maps. */
export function hasPath(schema: JsonSchema, path: readonly string[]): boolean {
  const name = path.at(-1)
  if (name === undefined) return true
  return objectsAt(schema, path.slice(0, -1)).some((one) => memberOf(one, name) !== undefined)
}

/** Names of the members below a dotted path, as far as the analysis knows them; through lists, maps and alternatives. */
export function memberNames(schema: JsonSchema, path: readonly string[] = []): string[] {
  const names = objectsAt(schema, path).flatMap(
    ({ properties = {}, [possibleKeys]: keys = [] }) => [...Object.keys(properties), ...keys],
  )
  return [...new Set(names)]
}

/** Whether answers have a member. `key`: it is a key of a map of unknown keys, so it may be misspelt. */
export type Presence = 'always' | 'optional' | 'key'

/** The presence of each member that a path names, in an answer that has those before it. */
export function presenceOf(schema: JsonSchema, path: readonly string[]): readonly Presence[] {
  return path.map((name, at) => {
    const objects = objectsAt(schema, path.slice(0, at))
    const isDeclared = objects.some(
      (one) => ownMember(one.properties, name) !== undefined || one[possibleKeys]?.includes(name),
    )
    const isRequired = objects.every(({ required = [] }) => required.includes(name))
    return isDeclared ? (isRequired ? 'always' : 'optional') : 'key'
  })
}

/** The schemas of objects below a path; several for alternatives. */
function objectsAt(schema: JsonSchema, path: readonly string[]): readonly JsonSchema[] {
  return path.reduce(
    (objects, name) =>
      objects
        .map((one) => memberOf(one, name))
        .filter(isSchema)
        .flatMap(objectsIn),
    objectsIn(schema),
  )
}

/** The schema itself and those of items and alternatives, as far as they are of objects. */
function objectsIn(schema: JsonSchema): readonly JsonSchema[] {
  const { items, prefixItems = [], anyOf = [], properties, additionalProperties } = schema
  const inner = [items, ...prefixItems, ...anyOf].filter(isSchema).flatMap(objectsIn)
  return properties === undefined && !isSchema(additionalProperties) ? inner : [schema, ...inner]
}

function memberOf(schema: JsonSchema, name: string) {
  const { properties, additionalProperties, [possibleKeys]: keys } = schema
  const isPossible = keys?.includes(name) ?? true
  const member = ownMember(properties, name) ?? (isPossible ? additionalProperties : undefined)
  return isSchema(member) ? member : undefined
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
