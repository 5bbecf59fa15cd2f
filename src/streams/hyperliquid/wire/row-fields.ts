import type { FrameReader } from './frame-reader.ts'
import { COMMA, LEFT_BRACE, quoted, RIGHT_BRACE } from './frame-reader.ts'
import type { Drop, DropReason } from './rejection.ts'
import { drop } from './rejection.ts'
import { readTimeMs } from './values.ts'

/** What a row is read with. */
export type RowScope = {
  /** Listed coins, each mapped to the string that events carry: maps find it sooner than a slice of the frame. */
  readonly coins: ReadonlyMap<string, string>
  readonly timeReceivedMs: number
}

/** The values of one row by the index of their field. Reused: an event copies what it needs. */
export class Row {
  readonly numbers = new Float64Array(FIELDS_MAX).fill(Number.NaN)
  readonly #values = new Array<unknown>(FIELDS_MAX).fill(undefined)

  set(at: number, value: unknown): void {
    this.#values[at] = value
  }

  /** NaN for an absent optional field. */
  number(at: number): number {
    return this.numbers[at] as number
  }

  numberOrNull(at: number): number | null {
    const number = this.numbers[at] as number
    return Number.isNaN(number) ? null : number
  }

  /** The type is that of the field. */
  value<T>(at: number): T {
    return this.#values[at] as T
  }
}

const FIELDS_MAX = 16

/** @returns false for an invalid value */
export type ParseField = (
  value: unknown,
  row: Row,
  at: number,
  scope: RowScope,
  drops: Drop[],
  coin: string,
) => boolean

/** @returns false for a value that only the parser may judge */
export type ReadField = (reader: FrameReader, row: Row, at: number, scope: RowScope) => boolean

type FieldOptions = {
  /**
   * How the value is read in place. The kinds are a `switch` in one loop: a function call per field doubles the time of a
   * frame.
   */
  readonly kind:
    | 'decimal'
    | 'signed decimal'
    | 'time'
    | 'identifier'
    | 'coin'
    | 'ignored'
    | 'custom'
  readonly parse: ParseField
  /** For a custom kind. */
  readonly read?: ReadField
  readonly min?: number
  readonly max?: number
  /** Absent for a field that cannot be invalid, or reports its own drops. */
  readonly reason?: DropReason | undefined
  readonly isOptional?: boolean
  readonly acceptsNull?: boolean
}

/** How one member is read: in place from the frame, and from parsed JSON. Both accept the same values. */
export class FieldType {
  readonly kind: FieldOptions['kind']
  readonly parse: ParseField
  readonly read: ReadField
  readonly min: number
  readonly max: number
  readonly reason: DropReason | undefined
  readonly isOptional: boolean
  readonly acceptsNull: boolean

  constructor(options: FieldOptions) {
    const { kind, parse, read = () => false, reason } = options
    this.kind = kind
    this.parse = parse
    this.read = read
    this.min = options.min ?? Number.NEGATIVE_INFINITY
    this.max = options.max ?? Number.POSITIVE_INFINITY
    this.reason = reason
    this.isOptional = options.isOptional ?? false
    this.acceptsNull = options.acceptsNull ?? false
  }
}

/** The members of a JSON object, in the order in which the venue sends them. Other members are skipped. */
export class RowFields<Name extends string> {
  /** The index of each field in its {@link Row}. */
  readonly at: Readonly<Record<Name, number>>
  readonly row = new Row()
  readonly #names: readonly Name[]
  readonly #types: readonly FieldType[]
  /** `"name":` */
  readonly #keys: readonly Uint8Array[]
  /** Bits of the fields that must be present. */
  readonly #required: number
  readonly #optional: readonly number[]

  constructor(fields: Readonly<Record<Name, FieldType>>) {
    const entries = Object.entries<FieldType>(fields)
    this.#names = entries.map(([name]) => name as Name)
    this.#types = entries.map(([, type]) => type)
    this.#keys = this.#names.map((name) => quoted(name, ':'))
    this.#optional = entries.flatMap(([, { isOptional }], at) => (isOptional ? [at] : []))
    this.#required = entries.reduce(
      (bits, [, { isOptional }], at) => (isOptional ? bits : bits | (1 << at)),
      0,
    )
    this.at = Object.fromEntries(this.#names.map((name, at) => [name, at])) as Record<Name, number>
  }

  /** Reads an object in place. @returns null for one that only {@link parse} may judge */
  read(reader: FrameReader, scope: RowScope): Row | null {
    if (!reader.skip(LEFT_BRACE)) return null
    const { row } = this
    const { numbers } = row
    this.#clear()
    let seen = 0
    let next = 0
    do {
      const at = this.#nextField(reader, next)
      if (at === -1) {
        if (!reader.skipMember()) return null
        continue
      }
      seen |= 1 << at
      next = at + 1
      const type = this.#types[at] as FieldType
      if (type.acceptsNull && reader.skipNull()) {
        numbers[at] = Number.NaN
        row.set(at, null)
        continue
      }
      switch (type.kind) {
        case 'decimal': {
          const value = reader.decimal()
          if (!(value >= type.min && value <= type.max)) return null
          numbers[at] = value
          break
        }
        case 'signed decimal': {
          const value = reader.signedDecimal()
          if (!(value >= type.min && value <= type.max)) return null
          numbers[at] = value
          break
        }
        case 'time': {
          const value = reader.integer()
          if (readTimeMs(value, scope.timeReceivedMs) === undefined) return null
          numbers[at] = value
          break
        }
        case 'identifier': {
          const value = reader.integer()
          if (!(value >= 0)) return null
          numbers[at] = value
          break
        }
        case 'coin': {
          const coin = scope.coins.get(reader.string())
          if (coin === undefined) return null
          row.set(at, coin)
          break
        }
        case 'ignored':
          reader.skipValue()
          break
        default:
          if (!type.read(reader, row, at, scope)) return null
      }
    } while (reader.skip(COMMA))
    const isComplete = (seen & this.#required) === this.#required
    return isComplete && reader.skip(RIGHT_BRACE) ? row : null
  }

  /** Reads parsed JSON. @returns null for an invalid object, with the reason in `drops` */
  parse(object: object, scope: RowScope, drops: Drop[], coin: string): Row | null {
    const { row } = this
    this.#clear()
    for (const [at, name] of this.#names.entries()) {
      const { parse, reason, isOptional } = this.#types[at] as FieldType
      const value = (object as Record<string, unknown>)[name]
      if (parse(value, row, at, scope, drops, coin)) continue
      if (reason !== undefined) drops.push(drop(reason, name, coin))
      if (!isOptional) return null
    }
    return row
  }

  #clear(): void {
    const { row } = this
    const optional = this.#optional
    for (let index = 0; index < optional.length; index += 1) {
      const at = optional[index] as number
      row.numbers[at] = Number.NaN
      row.set(at, undefined)
    }
  }

  /** @param next the field that follows in the venue's order. @returns -1 for an unknown member */
  #nextField(reader: FrameReader, next: number): number {
    const keys = this.#keys
    if (next < keys.length && reader.skipText(keys[next] as Uint8Array)) return next
    for (let at = 0; at < keys.length; at += 1)
      if (reader.skipText(keys[at] as Uint8Array)) return at
    return -1
  }
}
