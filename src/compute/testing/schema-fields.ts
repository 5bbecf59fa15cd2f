import type { TSchema } from 'typebox'

/** A numeric field of a published schema. */
export type NumericField = {
  /** Such as `spread.depth.bid_5bps_usd`; `[]` for the items of a list, `*` for any key. */
  readonly path: string
  /** The last name in it. */
  readonly name: string
  readonly description: string
  /** It has a smallest and a largest value, or is one of few. */
  readonly isBounded: boolean
}

type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Every field that can hold a number, with its description; the nearest one wins. */
export function numericFields(schema: TSchema): readonly NumericField[] {
  return [...fieldsOf(schema as Schema, [], '')]
}

function* fieldsOf(
  schema: Schema,
  path: readonly string[],
  inherited: string,
): Generator<NumericField> {
  const description = schema.description ?? inherited
  const isNumber = schema.type === 'number' || schema.type === 'integer'
  const isConstant = typeof schema.const === 'number'
  if (isNumber || isConstant) {
    const name = path.findLast((part) => part !== '[]' && part !== '*') ?? ''
    const hasBounds = schema.minimum !== undefined && schema.maximum !== undefined
    yield { path: path.join('.'), name, description, isBounded: isConstant || hasBounds }
  }
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    yield* fieldsOf(member, [...path, name], '')
  for (const member of Object.values(schema.patternProperties ?? {}))
    yield* fieldsOf(member, [...path, '*'], description)
  if (schema.items !== undefined) yield* fieldsOf(schema.items, [...path, '[]'], description)
  for (const member of schema.anyOf ?? []) yield* fieldsOf(member, path, description)
}
