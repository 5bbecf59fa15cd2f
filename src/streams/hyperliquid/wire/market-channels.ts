import type { MarkEvent, MarketEvent } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import { absentOr, optionalField, priceField } from './field-types.ts'
import type { Frame } from './frame.ts'
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

const markFields = new RowFields({ markPx: absentOr(priceField), midPx: optionalField(priceField) })

/** `allDexsAssetCtxs`: per dex, one row for each place of its universe. */
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

/** `fastAssetCtxs`: base64 of raw deflate of an object with a row per coin that changed. */
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
