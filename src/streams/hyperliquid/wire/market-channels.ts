import type { Batch, ContextEvent, MarkEvent, MarketEvent } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import { contextFields, contextOf } from './contexts.ts'
import { absentOr, optionalField, priceField } from './field-types.ts'
import type { Frame } from './frame.ts'
import {
  COLON,
  COMMA,
  FrameReader,
  LEFT_BRACE,
  LEFT_BRACKET,
  RIGHT_BRACE,
  RIGHT_BRACKET,
} from './frame-reader.ts'
import { inflatedText } from './inflate.ts'
import type { Drop } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { Row, RowScope } from './row-fields.ts'
import { RowFields } from './row-fields.ts'
import type { Universe } from './universe.ts'
import { isFollowedName, joinContexts, MAIN_DEX } from './universe.ts'
import { isVenueObject } from './values.ts'

/** What frames about all coins are joined with. */
export type ListedCoins = RowScope & { readonly universes: ReadonlyMap<string, Universe> }

const CONTEXTS_START = '{"channel":"allDexsAssetCtxs","data":{"ctxs":['
const MARKS_START = '{"channel":"fastAssetCtxs","data":"'
const MARKS_END = '"}'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** A JavaScript object moves such a name before all others. */
const INTEGER_NAME = /^\d+$/

const markFields = new RowFields({ markPx: absentOr(priceField), midPx: optionalField(priceField) })

/**
 * `allDexsAssetCtxs` in place: per dex, one row for each place of its universe.
 * @returns null for a frame that only {@link parseAllContexts} may judge
 */
export function readAllContexts(text: string, listed: ListedCoins): Batch | null {
  if (!text.startsWith(CONTEXTS_START)) return null
  const reader = FrameReader.of(text, CONTEXTS_START.length)
  if (reader === null) return null
  const { universes } = listed
  const contexts = new Map<string, readonly ContextEvent[]>()
  do {
    if (!reader.skip(LEFT_BRACKET)) return null
    const dex = reader.string()
    const universe = universes.get(dex)
    if (!reader.skip(COMMA) || contexts.has(dex)) return null
    if (universe === undefined) reader.skipValue()
    else {
      const rows = readContexts(reader, universe, listed)
      if (rows === null) return null
      contexts.set(dex, rows)
    }
    if (!reader.skip(RIGHT_BRACKET)) return null
  } while (reader.skip(COMMA))
  const isComplete = reader.skip(RIGHT_BRACKET) && reader.skip(RIGHT_BRACE) && reader.isEnd()
  if (!isComplete || contexts.size < universes.size) return null
  return Array.from(universes.keys()).flatMap((dex) => contexts.get(dex) ?? [])
}

function readContexts(
  reader: FrameReader,
  universe: Universe,
  scope: RowScope,
): readonly ContextEvent[] | null {
  if (!reader.skip(LEFT_BRACKET)) return null
  const contexts: ContextEvent[] = []
  for (const [place, listing] of universe.entries()) {
    if (place > 0 && !reader.skip(COMMA)) return null
    if (listing === null) reader.skipValue()
    else {
      const row = contextFields.read(reader, scope)
      if (row === null) return null
      contexts.push(contextOf(row, listing.coin, scope.timeReceivedMs))
    }
  }
  return reader.skip(RIGHT_BRACKET) ? contexts : null
}

export function parseAllContexts(data: unknown, listed: ListedCoins): Frame {
  if (!isVenueObject(data) || !Array.isArray(data.ctxs)) return rejected('bad_shape')
  const drops: Drop[] = []
  const events: MarketEvent[] = []
  const mismatched: string[] = []
  const channel = 'allDexsAssetCtxs'
  for (const [dex, universe] of listed.universes) {
    const groups = data.ctxs.filter((one) => Array.isArray(one) && one[0] === dex)
    const rows: unknown = groups[0]?.[1]
    if (dex === MAIN_DEX && !Array.isArray(rows)) return rejected('bad_shape')
    // Two groups of one dex are ambiguous.
    const contexts =
      groups.length === 1 && Array.isArray(rows)
        ? joinContexts(rows, universe, listed, drops)
        : undefined
    if (contexts !== undefined) events.push(...contexts)
    else {
      drops.push(drop('context_length', 'ctxs'))
      mismatched.push(dex)
    }
  }
  if (mismatched.length === 0) return { kind: 'events', events, drops, channel }
  if (events.length === 0) return rejected('context_length')
  return { kind: 'events', events, drops, channel, mismatched }
}

/**
 * `fastAssetCtxs` in place: base64 of raw deflate of an object with a row per coin that changed.
 * @returns null for a frame that only {@link parseMarks} may judge
 */
export function readMarks(text: string, listed: ListedCoins): Batch | null {
  if (!text.startsWith(MARKS_START) || !text.endsWith(MARKS_END)) return null
  const data = text.slice(MARKS_START.length, -MARKS_END.length)
  const json = BASE64.test(data) ? inflatedText(data) : null
  const reader = json === null ? null : FrameReader.of(json, 0)
  if (!reader?.skip(LEFT_BRACE)) return null
  const { coins, universes } = listed
  const marks = new Map<string, MarkEvent>()
  do {
    const name = reader.string()
    const coin = coins.get(name)
    if (coin === undefined ? isFollowedName(name, universes) : isRepeated(name, marks)) return null
    if (!reader.skip(COLON)) return null
    const row = markFields.read(reader, listed)
    const mark = row === null ? null : markOf(row, coin ?? name, listed.timeReceivedMs)
    if (mark === null) return null
    if (coin !== undefined) marks.set(coin, mark)
  } while (reader.skip(COMMA))
  return reader.isEnd() ? [...marks.values()] : null
}

function isRepeated(name: string, marks: ReadonlyMap<string, MarkEvent>): boolean {
  return INTEGER_NAME.test(name) || marks.has(name)
}

export function parseMarks(data: unknown, listed: ListedCoins): Frame {
  if (typeof data !== 'string') return rejected('bad_shape')
  const json = inflatedText(data)
  const rows = json === null ? undefined : parsedJson(json)
  if (rows === undefined) return rejected('bad_compression')
  if (!isVenueObject(rows)) return rejected('bad_shape')
  const events: MarkEvent[] = []
  const unlisted: MarkEvent[] = []
  const drops: Drop[] = []
  for (const [coin, value] of Object.entries(rows)) {
    const isListed = listed.coins.has(coin)
    if (!isListed && !isFollowedName(coin, listed.universes)) continue
    if (!isListed) drops.push(drop('unknown_coin', coin))
    if (!isVenueObject(value)) {
      drops.push(drop('bad_row', coin, coin))
      continue
    }
    const row = markFields.parse(value, listed, drops, coin)
    const event = row === null ? null : markOf(row, coin, listed.timeReceivedMs)
    if (event !== null) (isListed ? events : unlisted).push(event)
  }
  const found = unlisted.length > 0 && { unlisted }
  return { kind: 'events', events, drops, channel: 'fastAssetCtxs', ...found }
}

/** @returns null for a row without a price */
function markOf(row: Row, coin: string, timeReceivedMs: number): MarkEvent | null {
  const { at } = markFields
  const markPrice = row.number(at.markPx)
  const midPrice = row.number(at.midPx)
  const times = { timeExchangeMs: timeReceivedMs, timeReceivedMs }
  const hasMark = !Number.isNaN(markPrice)
  const hasMid = !Number.isNaN(midPrice)
  // The venue sends null for a market without both sides.
  if (hasMid || row.value(at.midPx) === null) {
    const mid = hasMid ? midPrice : null
    return hasMark
      ? { kind: 'mark', coin, ...times, markPrice, midPrice: mid }
      : { kind: 'mark', coin, ...times, midPrice: mid }
  }
  return hasMark ? { kind: 'mark', coin, ...times, markPrice } : null
}
