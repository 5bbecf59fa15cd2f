import type { JsonSchema } from './published-schema.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** A shorter schema is no longer than a reference to it. */
const SHARED_CHARS_MIN = 60

/**
 * Schemas as OpenAPI components: an object or enum that occurs more than once becomes a component of its own, as do the
 * members that `meta` has in all answers.
 */
export function sharedSchemas(answers: Schemas): Schemas {
  const { common, schemas } = splitMeta(answers)
  const named: Schemas = { ...schemas, ...(common && { [META]: common }) }
  const places = new Map<string, Place[]>()
  for (const [name, schema] of Object.entries(named))
    visit(schema, { name, parent: '' }, (one, place) => {
      const held = places.get(keyOf(one))
      places.set(keyOf(one), [...(held ?? []), place])
      // The inside of a component is visited once.
      return held === undefined || !isShareable(one, keyOf(one))
    })

  const names = new Map(Object.entries(named).map(([name, schema]) => [keyOf(schema), name]))
  const components: Record<string, JsonSchema> = {}
  const referred = (schema: JsonSchema): JsonSchema => {
    const key = keyOf(schema)
    const known = names.get(key)
    if (known !== undefined) return schemaRef(known)
    const found = places.get(key) ?? []
    if (found.length < 2 || !isShareable(schema, key)) return mapInner(schema, referred)
    const name = freeName(found, new Set(names.values()))
    names.set(key, name)
    components[name] = mapInner(schema, referred)
    return schemaRef(name)
  }
  for (const [name, schema] of Object.entries(named)) components[name] = mapInner(schema, referred)
  return components
}

const META = 'Meta'

/** Splits `meta` of each answer into the common members and its own. */
function splitMeta(answers: Schemas): {
  readonly common: JsonSchema | null
  readonly schemas: Schemas
} {
  const metas = Object.values(answers).map(({ properties }) => properties?.['meta'])
  const [first, ...others] = metas.filter((meta) => meta !== undefined)
  if (first === undefined || others.length + 1 < metas.length)
    return { common: null, schemas: answers }
  const isCommon = ([name, schema]: [string, JsonSchema]) =>
    others.every(({ properties }) => {
      const member = properties?.[name]
      return member !== undefined && keyOf(member) === keyOf(schema)
    })
  const common = Object.fromEntries(Object.entries(first.properties ?? {}).filter(isCommon))
  const isOwn = (name: string) => !Object.hasOwn(common, name)
  const split = (schema: JsonSchema): JsonSchema => {
    const { properties, required = [], ...rest } = schema
    const meta = properties?.['meta']
    const members = Object.entries(properties ?? {}).map(([name, member]) => [
      name,
      name === 'meta' ? extended(member) : split(member),
    ])
    return meta === undefined
      ? schema
      : { ...rest, required, properties: Object.fromEntries(members) }
  }
  const extended = ({ properties = {}, required = [] }: JsonSchema): JsonSchema => ({
    allOf: [
      schemaRef(META),
      {
        type: 'object',
        required: required.filter(isOwn),
        properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name))),
      },
    ],
  })
  return {
    common: {
      type: 'object',
      required: (first.required ?? []).filter((name) => !isOwn(name)),
      properties: common,
    },
    schemas: Object.fromEntries(
      Object.entries(answers).map(([name, schema]) => [name, split(schema)]),
    ),
  }
}

type Place = { readonly name: string; readonly parent: string }

function visit(
  schema: JsonSchema,
  place: Place,
  enter: (schema: JsonSchema, place: Place) => boolean,
): void {
  if (!enter(schema, place)) return
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    visit(member, { name, parent: place.name }, enter)
  for (const inner of innerSchemas(schema)) visit(inner, place, enter)
}

function innerSchemas({ items, additionalProperties, anyOf, prefixItems }: JsonSchema) {
  return [items, additionalProperties, ...(anyOf ?? []), ...(prefixItems ?? [])].filter(
    (inner) => inner !== undefined && inner !== false,
  )
}

/** A copy with each directly nested schema replaced. */
export function mapInner(
  schema: JsonSchema,
  replace: (inner: JsonSchema, name: string) => JsonSchema,
  ownName = '',
): JsonSchema {
  const { properties, items, additionalProperties, anyOf, allOf, prefixItems } = schema
  const inner = (one: JsonSchema) => replace(one, ownName)
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, replace(member, name)]),
      ),
    }),
    ...(items && { items: inner(items) }),
    ...(additionalProperties && { additionalProperties: inner(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(inner) }),
    ...(allOf && { allOf: allOf.map(inner) }),
    ...(prefixItems && { prefixItems: prefixItems.map(inner) }),
  }
}

function isShareable({ properties, enum: words }: JsonSchema, key: string): boolean {
  return (properties !== undefined || words !== undefined) && key.length >= SHARED_CHARS_MIN
}

/** Named after its member; after the parent if the member's name varies. */
function freeName(places: readonly Place[], taken: ReadonlySet<string>): string {
  const [first = { name: '', parent: '' }] = places
  const name = places.every((place) => place.name === first.name)
    ? pascalCase(first.name)
    : `${pascalCase(first.parent)}Entry`
  if (!taken.has(name)) return name
  const longer = pascalCase(first.parent) + name
  return taken.has(longer) ? freeName([{ name: `${name}_2`, parent: '' }], taken) : longer
}

function pascalCase(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/)
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

export function schemaRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

function keyOf(schema: JsonSchema): string {
  return JSON.stringify(schema)
}
