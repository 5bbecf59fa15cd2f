import type { BookLevel } from '../../../domain/event.ts'
import type { FrameReader } from './frame-reader.ts'
import { COMMA, LEFT_BRACKET, quoted, RIGHT_BRACE, RIGHT_BRACKET } from './frame-reader.ts'
import type { DropReason } from './rejection.ts'
import { drop } from './rejection.ts'
import type { RowFields } from './row-fields.ts'
import { FieldType } from './row-fields.ts'
import {
  AMOUNT_MAX,
  isVenueObject,
  PRICE_MAX,
  readAddress,
  readDecimal,
  readPrice,
  readTimeMs,
} from './values.ts'

const ABOVE_ZERO = Number.MIN_VALUE
const LEVELS_PER_SIDE_MAX = 100

function decimal(min: number, max: number, reason: DropReason, isSigned = false): FieldType {
  return new FieldType({
    ...{ min, max, reason },
    kind: isSigned ? 'signed decimal' : 'decimal',
    parse: (value, row, at) => {
      const number = readDecimal(value) ?? Number.NaN
      const isValid = number >= min && number <= max
      if (isValid) row.numbers[at] = number
      return isValid
    },
  })
}

export const priceField = decimal(ABOVE_ZERO, PRICE_MAX, 'bad_price')
export const sizeField = decimal(ABOVE_ZERO, AMOUNT_MAX, 'bad_size')
/** A volume or an open interest; 0 is valid. */
export const amount = (reason: DropReason) => decimal(0, AMOUNT_MAX, reason)
/** A rate or a premium, as a fraction. */
export const fraction = (limit: number) => decimal(-limit, limit, 'bad_number', true)

/** May be null or absent; an invalid value is dropped alone. */
export function optionalField(type: FieldType): FieldType {
  return new FieldType({
    ...type,
    isOptional: true,
    acceptsNull: true,
    parse: (value, row, at, scope, drops, coin) => {
      if (value === null) row.set(at, null)
      return value == null || type.parse(value, row, at, scope, drops, coin)
    },
  })
}

/** May be absent, but not null; an invalid value is dropped alone. */
export function absentOr(type: FieldType): FieldType {
  return new FieldType({
    ...type,
    isOptional: true,
    parse: (value, row, at, scope, drops, coin) =>
      value === undefined || type.parse(value, row, at, scope, drops, coin),
  })
}

/** The time of a past event. */
export const pastTime = new FieldType({
  kind: 'time',
  reason: 'bad_time',
  parse: (value, row, at, { timeReceivedMs }) => {
    const time = readTimeMs(value, timeReceivedMs)
    if (time !== undefined) row.numbers[at] = time
    return time !== undefined
  },
})

/** A member that no event needs; naming it keeps the order of the venue. */
export const ignored = new FieldType({ kind: 'ignored', isOptional: true, parse: () => true })

export const tradeId = new FieldType({
  kind: 'identifier',
  reason: 'bad_trade_id',
  parse: (value, row, at) => {
    const isValid = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    if (isValid) row.numbers[at] = value
    return isValid
  },
})

/** The name of a listed coin. */
export const coin = new FieldType({
  kind: 'coin',
  reason: 'unknown_coin',
  parse: (value, row, at, { coins }) => {
    const name = coins.get(value as string)
    row.set(at, name)
    return name !== undefined
  },
})

/** One of a few words, each mapped to its value. */
export function wordField<T>(words: Readonly<Record<string, T>>, reason: DropReason): FieldType {
  const choices = new Map(Object.entries(words))
  const texts = Array.from(choices, ([word, value]) => ({ text: quoted(word), value }))
  return new FieldType({
    kind: 'custom',
    reason,
    read: (reader, row, at) => {
      for (const { text, value } of texts) {
        if (!reader.skipText(text)) continue
        row.set(at, value)
        return true
      }
      return false
    },
    parse: (word, row, at) => {
      const value = choices.get(word as string)
      row.set(at, value)
      return value !== undefined
    },
  })
}

/** Two account addresses. A row is valid without them. */
export const addressPair = new FieldType({
  kind: 'custom',
  isOptional: true,
  read: (reader, row, at) => {
    if (!reader.skip(LEFT_BRACKET)) return false
    const first = reader.address()
    if (!reader.skip(COMMA)) return false
    const second = reader.address()
    row.set(at, [first, second])
    return reader.skip(RIGHT_BRACKET)
  },
  parse: (value, row, at) => {
    const [one, other]: readonly unknown[] = Array.isArray(value) ? value : []
    const [first, second] = [readAddress(one), readAddress(other)]
    if (first !== undefined && second !== undefined) row.set(at, [first, second])
    return true
  },
})

/** `[bid, ask]` or null; the parser replaces an invalid price by null. */
export const pricePair = new FieldType({
  kind: 'custom',
  reason: 'bad_price',
  isOptional: true,
  acceptsNull: true,
  read: (reader, row, at) => {
    if (!reader.skip(LEFT_BRACKET)) return false
    const bid = reader.decimal()
    if (!reader.skip(COMMA)) return false
    const ask = reader.decimal()
    row.set(at, [bid, ask])
    return reader.skip(RIGHT_BRACKET) && isPrice(bid) && isPrice(ask)
  },
  parse: (value, row, at) => {
    if (value == null) return true
    const [bid, ask]: readonly unknown[] = Array.isArray(value) ? value : []
    const prices = [readPrice(bid) ?? null, readPrice(ask) ?? null] as const
    row.set(at, prices)
    return prices[0] !== null && prices[1] !== null
  },
})

/** An object with fields of its own, which reports its own drops. */
export function nested(name: string, fields: RowFields<string>): FieldType {
  return new FieldType({
    kind: 'custom',
    read: (reader, _, __, scope) => fields.read(reader, scope) !== null,
    parse: (value, _, __, scope, drops, coinName) => {
      if (isVenueObject(value)) return fields.parse(value, scope, drops, coinName) !== null
      drops.push(drop('bad_row', name, coinName))
      return false
    },
  })
}

export type Sides<Side> = readonly [bid: Side, ask: Side]

/** Reads one side. `undefined` for an invalid one. */
type SideReader<Side> = {
  readonly read: (reader: FrameReader, direction: 1 | -1) => Side | undefined
  readonly parse: (value: unknown, direction: 1 | -1) => Side | undefined
}

/** Both sides of a book, best level first. */
export const bookSides = sides<readonly BookLevel[]>({ read: readLevels, parse: parseLevels })

/** The best bid and the best ask; either may be null. */
export const bestLevels = sides<BookLevel | null>({
  read: (reader) => (reader.skipNull() ? null : readLevel(reader)),
  parse: (value) => (value === null ? null : parseLevel(value)),
})

function sides<Side>({ read, parse }: SideReader<Side>): FieldType {
  return new FieldType({
    kind: 'custom',
    reason: 'bad_book',
    read: (reader, row, at) => {
      if (!reader.skip(LEFT_BRACKET)) return false
      const bid = read(reader, -1)
      if (bid === undefined || !reader.skip(COMMA)) return false
      const ask = read(reader, 1)
      row.set(at, [bid, ask])
      return ask !== undefined && reader.skip(RIGHT_BRACKET)
    },
    parse: (value, row, at) => {
      if (!Array.isArray(value) || value.length !== 2) return false
      const bid = parse(value[0], -1)
      const ask = parse(value[1], 1)
      row.set(at, [bid, ask])
      return bid !== undefined && ask !== undefined
    },
  })
}

/** @param direction of the prices from the best level on: -1 for bids, 1 for asks */
function readLevels(reader: FrameReader, direction: 1 | -1): readonly BookLevel[] | undefined {
  if (!reader.skip(LEFT_BRACKET)) return undefined
  const side: BookLevel[] = []
  if (reader.skip(RIGHT_BRACKET)) return side
  let last = Number.NaN
  do {
    const level = readLevel(reader)
    if (level === undefined || side.length === LEVELS_PER_SIDE_MAX) return undefined
    if ((level.price - last) * direction <= 0) return undefined
    last = level.price
    side.push(level)
  } while (reader.skip(COMMA))
  return reader.skip(RIGHT_BRACKET) ? side : undefined
}

function parseLevels(value: unknown, direction: 1 | -1): readonly BookLevel[] | undefined {
  if (!Array.isArray(value) || value.length > LEVELS_PER_SIDE_MAX) return undefined
  const side: BookLevel[] = []
  for (const row of value) {
    const level = parseLevel(row)
    const previous = side.at(-1)
    if (level === undefined) return undefined
    if (previous && (level.price - previous.price) * direction <= 0) return undefined
    side.push(level)
  }
  return side
}

const LEVEL_PRICE = quoted('px', ':', '{')
const LEVEL_SIZE = quoted('sz', ':', ',')
const LEVEL_ORDERS = quoted('n', ':', ',')

/** A book has forty levels, so their members are read in the venue's order only. */
function readLevel(reader: FrameReader): BookLevel | undefined {
  if (!reader.skipText(LEVEL_PRICE)) return undefined
  const levelPrice = reader.decimal()
  if (!reader.skipText(LEVEL_SIZE)) return undefined
  const sizeBase = reader.decimal()
  if (!reader.skipText(LEVEL_ORDERS)) return undefined
  reader.integer()
  const isValid = reader.skip(RIGHT_BRACE) && isPrice(levelPrice) && isSize(sizeBase)
  return isValid ? { price: levelPrice, sizeBase } : undefined
}

function parseLevel(row: unknown): BookLevel | undefined {
  if (typeof row !== 'object' || row === null) return undefined
  const { px, sz } = row as { readonly px?: unknown; readonly sz?: unknown }
  const [levelPrice, sizeBase] = [readDecimal(px) ?? 0, readDecimal(sz) ?? 0]
  return isPrice(levelPrice) && isSize(sizeBase) ? { price: levelPrice, sizeBase } : undefined
}

function isPrice(value: number): boolean {
  return value > 0 && value <= PRICE_MAX
}

function isSize(value: number): boolean {
  return value > 0 && value <= AMOUNT_MAX
}
