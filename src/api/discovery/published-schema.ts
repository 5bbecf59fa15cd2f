import type { TSchema } from 'typebox'

/** Keys of a map that has no others: for the service itself, so not part of the JSON text. */
export const possibleKeys = Symbol('possibleKeys')

/** JSON Schema 2020-12, as in OpenAPI 3.1. */
export type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | false
  readonly items?: JsonSchema | false
  readonly prefixItems?: readonly JsonSchema[]
  readonly [possibleKeys]?: readonly string[]
  readonly [keyword: string]: unknown
}

/** Output of typebox: draft-07 forms of some keywords; `items` may be a list. */
type Written = {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Written[]
  readonly properties?: Readonly<Record<string, Written>>
  readonly patternProperties?: Readonly<Record<string, Written>>
  readonly items?: Written | readonly Written[]
  readonly additionalItems?: boolean
  readonly possibleKeys?: readonly string[]
  readonly [keyword: string]: unknown
}

const known = new WeakMap<TSchema, JsonSchema>()

/** The published schema of an answer: unions of literals as `enum`, units as `x-unit`. */
export function publishedSchema(schema: TSchema): JsonSchema {
  let made = known.get(schema)
  if (made === undefined) {
    // Removes typebox's symbols.
    made = published(JSON.parse(JSON.stringify(schema)) as Written, '', '')
    known.set(schema, made)
  }
  return made
}

function published(schema: Written, name: string, inherited: string): JsonSchema {
  const { anyOf, properties, patternProperties, items, additionalItems: _, ...others } = schema
  const { possibleKeys: keys, ...plain } = others
  const description = typeof schema['description'] === 'string' ? schema['description'] : inherited
  const inner = (member: Written) => published(member, name, description)
  const unit = isNumeric(schema) ? unitOf(name, description) : null
  return {
    ...plain,
    ...(anyOf !== undefined && alternatives(anyOf, inner)),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, member]) => [key, published(member, key, '')]),
      ),
    }),
    ...(patternProperties !== undefined && anyKey(Object.values(patternProperties).map(inner))),
    ...(keys !== undefined && { [possibleKeys]: keys }),
    ...(isTuple(items) && { prefixItems: items.map(inner), items: false as const }),
    ...(items !== undefined && !isTuple(items) && { items: inner(items) }),
    ...(unit !== null && { 'x-unit': unit }),
  }
}

function isTuple(items: Written['items']): items is readonly Written[] {
  return Array.isArray(items)
}

/** A union of literals becomes `enum`; a nullable value keeps its keywords. */
function alternatives(
  anyOf: readonly Written[],
  inner: (member: Written) => JsonSchema,
): JsonSchema {
  if (anyOf.every((member) => 'const' in member)) {
    const [type = 'string', ...others] = new Set(anyOf.map((member) => member.type ?? 'string'))
    const words = anyOf.map((member) => member.const)
    return { type: others.length === 0 ? type : [type, ...others], enum: words }
  }
  const [value, nothing] = anyOf
  if (anyOf.length !== 2 || value === undefined || nothing?.type !== 'null')
    return { anyOf: anyOf.map(inner) }
  const { type, enum: words, ...rest } = inner(value)
  if (typeof type !== 'string' || type === 'object' || type === 'array')
    return { anyOf: anyOf.map(inner) }
  return { ...rest, type: [type, 'null'], ...(words !== undefined && { enum: [...words, null] }) }
}

function anyKey(members: readonly JsonSchema[]): JsonSchema {
  const [only] = members
  return members.length === 1 && only !== undefined
    ? { additionalProperties: only }
    : { additionalProperties: { anyOf: members } }
}

function isNumeric({ type, anyOf }: Written): boolean {
  return type === 'number' || type === 'integer' || (anyOf?.some(isNumeric) ?? false)
}

/** The unit by the suffix of the name, else by the description. */
const unitsByName: readonly (readonly [RegExp, string])[] = [
  [/^position_pct$/, 'fraction'],
  [/_bps(_|$)/, 'basis points'],
  [/_pct(_|$)/, 'percent'],
  [/_usd(_|$)/, 'USD'],
  [/_seconds$/, 'seconds'],
  [/(^|_)hours$/, 'hours'],
  [/_ms$/, 'milliseconds'],
]

const unitsByDescription: readonly (readonly [RegExp, string])[] = [
  [/\bUnix seconds\b/, 'Unix seconds'],
  [/\bbasis points\b/, 'basis points'],
  [/\bpercent\b/, 'percent'],
  [/\bas a fraction\b/, 'fraction'],
  [/\bUSD\b/, 'USD'],
  [/\bcontracts\b|\bcoin's unit\b/, "contracts, in the coin's unit"],
  [/\b[Nn]umber of\b/, 'count'],
  [/\bstandard deviations\b/, 'standard deviations'],
]

/** The unit in the suffix of a member's name; undefined for none. */
export function unitInName(name: string): string | undefined {
  return unitsByName.find(([pattern]) => pattern.test(name))?.[1]
}

function unitOf(name: string, description: string): string | null {
  const inDescription = unitsByDescription.find(([pattern]) => pattern.test(description))
  return unitInName(name) ?? inDescription?.[1] ?? null
}
