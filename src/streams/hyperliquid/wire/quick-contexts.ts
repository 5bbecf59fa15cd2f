import type { Batch, ContextEvent, MarkEvent } from '../../../domain/event.ts'
import { FUNDING_MAX, PREMIUM_MAX } from './contexts.ts'
import {
  COLON,
  COMMA,
  charactersOf,
  codeOf,
  FrameReader,
  LEFT_BRACE,
  LEFT_BRACKET,
  NO_NAME,
  RIGHT_BRACE,
  RIGHT_BRACKET,
} from './frame-reader.ts'
import { inflatedText } from './inflate.ts'
import type { Universe } from './universe.ts'
import { isFollowedName } from './universe.ts'
import { isAmount, isFraction, isPrice } from './values.ts'

const ALL_CONTEXTS_START = '{"channel":"allDexsAssetCtxs","data":{"ctxs":['
const MARKS_START = '{"channel":"fastAssetCtxs","data":"'
const MARKS_END = '"}'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const FUNDING = charactersOf('{"funding":')
const OPEN_INTEREST = charactersOf(',"openInterest":')
const PREVIOUS_DAY_PRICE = charactersOf(',"prevDayPx":')
const DAY_NOTIONAL = charactersOf(',"dayNtlVlm":')
const PREMIUM = charactersOf(',"premium":')
const ORACLE_PRICE = charactersOf(',"oraclePx":')
const MARK_PRICE = charactersOf(',"markPx":')
const MID_PRICE = charactersOf(',"midPx":')
const IMPACT_PRICES = charactersOf(',"impactPxs":')
const DAY_BASE = charactersOf(',"dayBaseVlm":')
const MARK_PX = codeOf('markPx')
const MID_PX = codeOf('midPx')

/** Such a name an object puts before its others, wherever it stood. */
const INDEX = /^\d+$/

/**
 * The contexts of all followed dexes, as `FrameDecoder` reads them the long way.
 * @param universes by dex
 * @returns null for another frame, and for one that has to be read the long way
 */
export function readAllContexts(
  text: string,
  universes: ReadonlyMap<string, Universe>,
  timeReceivedMs: number,
): Batch | null {
  if (!text.startsWith(ALL_CONTEXTS_START)) return null
  const reader = FrameReader.of(text, ALL_CONTEXTS_START.length)
  if (reader === null) return null
  const contexts = new Map<string, readonly ContextEvent[]>()
  do {
    if (!reader.skip(LEFT_BRACKET)) return null
    const dex = reader.string()
    const universe = universes.get(dex)
    if (!reader.skip(COMMA) || contexts.has(dex)) return null
    if (universe === undefined) reader.skipValue()
    else {
      const rows = readRows(reader, universe, timeReceivedMs)
      if (rows === null) return null
      contexts.set(dex, rows)
    }
    if (!reader.skip(RIGHT_BRACKET)) return null
  } while (reader.skip(COMMA))
  const isWhole = reader.skip(RIGHT_BRACKET) && reader.skip(RIGHT_BRACE) && reader.isEnd()
  if (!isWhole || contexts.size < universes.size) return null
  return Array.from(universes.keys()).flatMap((dex) => contexts.get(dex) ?? [])
}

function readRows(
  reader: FrameReader,
  universe: Universe,
  timeReceivedMs: number,
): readonly ContextEvent[] | null {
  if (!reader.skip(LEFT_BRACKET)) return null
  const contexts: ContextEvent[] = []
  for (const [place, listing] of universe.entries()) {
    if (place > 0 && !reader.skip(COMMA)) return null
    if (listing === null) reader.skipValue()
    else {
      const context = readContext(reader, listing.coin, timeReceivedMs)
      if (context === null) return null
      contexts.push(context)
    }
  }
  return reader.skip(RIGHT_BRACKET) ? contexts : null
}

/** In the order in which the venue tells them. */
export function readContext(
  reader: FrameReader,
  coin: string,
  timeReceivedMs: number,
): ContextEvent | null {
  if (!reader.skipText(FUNDING)) return null
  const fundingRateHourly = reader.signedDecimal()
  if (!reader.skipText(OPEN_INTEREST)) return null
  const openInterestBase = reader.decimal()
  if (!reader.skipText(PREVIOUS_DAY_PRICE)) return null
  const prevDayPrice = reader.skipNull() ? null : reader.decimal()
  if (!reader.skipText(DAY_NOTIONAL)) return null
  const dayNotionalUsd = reader.decimal()
  if (!reader.skipText(PREMIUM)) return null
  const premium = reader.skipNull() ? null : reader.signedDecimal()
  if (!reader.skipText(ORACLE_PRICE)) return null
  const oraclePrice = reader.decimal()
  if (!reader.skipText(MARK_PRICE)) return null
  const markPrice = reader.decimal()
  if (!reader.skipText(MID_PRICE)) return null
  const midPrice = reader.skipNull() ? null : reader.decimal()
  if (!reader.skipText(IMPACT_PRICES)) return null
  let impactBid: number | null = null
  let impactAsk: number | null = null
  if (!reader.skipNull()) {
    if (!reader.skip(LEFT_BRACKET)) return null
    impactBid = reader.decimal()
    if (!reader.skip(COMMA)) return null
    impactAsk = reader.decimal()
    if (!reader.skip(RIGHT_BRACKET)) return null
  }
  if (!reader.skipText(DAY_BASE)) return null
  reader.skipValue()
  const isSound =
    reader.skip(RIGHT_BRACE) &&
    isPrice(markPrice) &&
    isPrice(oraclePrice) &&
    (prevDayPrice === null || isPrice(prevDayPrice)) &&
    isFraction(fundingRateHourly, FUNDING_MAX) &&
    isAmount(openInterestBase) &&
    isAmount(dayNotionalUsd) &&
    (premium === null || isFraction(premium, PREMIUM_MAX)) &&
    (midPrice === null || isPrice(midPrice)) &&
    (impactBid === null || isPrice(impactBid)) &&
    (impactAsk === null || isPrice(impactAsk))
  if (!isSound) return null
  return {
    kind: 'context',
    coin,
    timeExchangeMs: timeReceivedMs,
    timeReceivedMs,
    markPrice,
    oraclePrice,
    midPrice,
    premium,
    impactBid,
    impactAsk,
    fundingRateHourly,
    openInterestBase,
    dayNotionalUsd,
    prevDayPrice,
  }
}

/**
 * A frame of `fastAssetCtxs`, as `FrameDecoder` reads it the long way.
 * @param coins see `readQuickly`
 * @param universes by dex
 * @returns null for another frame, and for one that has to be read the long way
 */
export function readMarks(
  text: string,
  coins: ReadonlyMap<string, string>,
  universes: ReadonlyMap<string, Universe>,
  timeReceivedMs: number,
): Batch | null {
  if (!text.startsWith(MARKS_START) || !text.endsWith(MARKS_END)) return null
  const data = text.slice(MARKS_START.length, -MARKS_END.length)
  const json = BASE64.test(data) ? inflatedText(data) : null
  const reader = json === null ? null : FrameReader.of(json, 0)
  if (!reader?.skip(LEFT_BRACE)) return null
  const marks = new Map<string, MarkEvent>()
  do {
    const name = reader.string()
    const coin = coins.get(name)
    // What it says of a perpetual that is not listed, the long way tells.
    if (coin === undefined ? isFollowedName(name, universes) : INDEX.test(name) || marks.has(coin))
      return null
    if (!reader.skip(COLON)) return null
    const mark = readMark(reader, coin ?? name, timeReceivedMs)
    if (mark === null) return null
    if (coin !== undefined) marks.set(coin, mark)
  } while (reader.skip(COMMA))
  return reader.isEnd() ? [...marks.values()] : null
}

function readMark(reader: FrameReader, coin: string, timeReceivedMs: number): MarkEvent | null {
  if (!reader.skip(LEFT_BRACE)) return null
  let markPrice: number | undefined
  let midPrice: number | null | undefined
  do {
    switch (reader.name()) {
      case MARK_PX:
        markPrice = reader.decimal()
        if (!isPrice(markPrice)) return null
        break
      case MID_PX:
        midPrice = reader.skipNull() ? null : reader.decimal()
        if (midPrice !== null && !isPrice(midPrice)) return null
        break
      case NO_NAME:
        return null
      default:
        reader.skipValue()
    }
  } while (reader.skip(COMMA))
  if (!reader.skip(RIGHT_BRACE)) return null
  const times = { timeExchangeMs: timeReceivedMs, timeReceivedMs }
  if (midPrice === undefined)
    return markPrice === undefined ? null : { kind: 'mark', coin, ...times, markPrice }
  return markPrice === undefined
    ? { kind: 'mark', coin, ...times, midPrice }
    : { kind: 'mark', coin, ...times, markPrice, midPrice }
}
