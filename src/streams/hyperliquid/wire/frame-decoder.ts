import type { Batch, MarkEvent, MarketEvent } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import type { VenueChannel } from './channels.ts'
import { venueChannels } from './channels.ts'
import type { Frame } from './frame.ts'
import { COMMA, FrameReader, LEFT_BRACKET, RIGHT_BRACKET } from './frame-reader.ts'
import type { ListedCoins } from './market-channels.ts'
import { parseAllContexts, parseMarks } from './market-channels.ts'
import type { Drop } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { Universe } from './universe.ts'
import { isFollowedName, MAIN_DEX } from './universe.ts'
import type { VenueObject } from './values.ts'
import { isVenueObject } from './values.ts'

/** Older servers send this text first. */
const GREETING = 'Websocket connection established.'
const IGNORED: Frame = { kind: 'ignored' }
const PONG: Frame = { kind: 'pong' }
const NO_DROPS: readonly Drop[] = []
const REFUSAL_LENGTH_MAX = 500
/** Prefix of the error for a repeated subscription, before that subscription as JSON. */
const ALREADY_SUBSCRIBED = 'Already subscribed: '
const CHANNEL_AT = '{"channel":"'.length

/**
 * Turns frames into events and never throws. It knows the universes, because contexts carry no names and because every
 * event names a listed coin.
 *
 * A regular frame of one coin is read in place: `JSON.parse` would create strings of hashes, addresses and numbers that no
 * event needs, which costs more than all other processing of the frame. All other frames, about one a second, are
 * parsed. Both readers of a channel use one description.
 */
export class FrameDecoder {
  readonly #channels: ReadonlyMap<string, VenueChannel>
  /** Channels by the first letter of their name. */
  readonly #byLetter = new Map<number, { readonly start: string; readonly channel: VenueChannel }>()
  /** By dex. */
  readonly #universes = new Map<string, Universe>()
  /** Each listed coin, mapped to the string that events carry. */
  #coins: ReadonlyMap<string, string> = new Map()

  constructor(channels: readonly VenueChannel[] = venueChannels) {
    this.#channels = new Map(channels.map((channel) => [channel.name, channel]))
    for (const channel of channels) {
      const start = `{"channel":"${channel.name}","data":`
      const letter = start.charCodeAt(CHANNEL_AT)
      // Frames of a second channel with the same letter are parsed.
      if (!this.#byLetter.has(letter)) this.#byLetter.set(letter, { start, channel })
    }
  }

  setUniverse(universe: Universe, dex = MAIN_DEX): void {
    this.#universes.set(dex, universe)
    this.#indexCoins()
  }

  dropUniverse(dex: string): void {
    this.#universes.delete(dex)
    this.#indexCoins()
  }

  #indexCoins(): void {
    const listings = [...this.#universes.values()].flat()
    this.#coins = new Map(
      listings.flatMap((listing) => (listing === null ? [] : [[listing.coin, listing.coin]])),
    )
  }

  decode(text: string, timeReceivedMs: number): Frame {
    const events = this.readRows(text, timeReceivedMs)
    return events === null
      ? this.parse(text, timeReceivedMs)
      : { kind: 'events', events, drops: NO_DROPS }
  }

  /** Reads the frame of a coin channel in place. @returns null for one that only {@link parse} may judge */
  readRows(text: string, timeReceivedMs: number): Batch | null {
    const candidate = this.#byLetter.get(text.charCodeAt(CHANNEL_AT))
    if (candidate === undefined || !text.startsWith(candidate.start)) return null
    const { start, channel } = candidate
    const reader = FrameReader.of(text, start.length)
    if (reader === null) return null
    const scope = { coins: this.#coins, timeReceivedMs }
    const events: MarketEvent[] = []
    const { at } = channel.fields
    if (channel.isArray && !reader.skip(LEFT_BRACKET)) return null
    do {
      const row = channel.fields.read(reader, scope)
      if (row === null) return null
      const coin = row.value<string>(at[channel.coinField] as number)
      const event = channel.eventOf(row, at, coin, timeReceivedMs)
      if (typeof event === 'string') return null
      events.push(event)
    } while (channel.isArray && reader.skip(COMMA))
    if (channel.isArray && !reader.skip(RIGHT_BRACKET)) return null
    return reader.isEnd() ? events : null
  }

  parse(text: string, timeReceivedMs: number): Frame {
    const message = parsedJson(text)
    if (message === undefined) return text === GREETING ? IGNORED : rejected('not_json')
    if (!isVenueObject(message)) return rejected('bad_shape')
    const { channel, data } = message
    switch (channel) {
      case 'allDexsAssetCtxs':
        return parseAllContexts(data, this.#listed(timeReceivedMs))
      case 'fastAssetCtxs':
        return parseMarks(data, this.#listed(timeReceivedMs))
      case 'subscriptionResponse':
        return this.#acknowledgement(data)
      case 'error':
        return typeof data === 'string' ? this.#refusal(data) : rejected('bad_shape')
      case 'pong':
        return PONG
      case 'allMids':
        return IGNORED
      default: {
        const described = this.#channels.get(channel as string)
        if (described === undefined) return rejected('unknown_channel')
        return this.#parseRows(data, described, timeReceivedMs)
      }
    }
  }

  #listed(timeReceivedMs: number): ListedCoins {
    return { coins: this.#coins, universes: this.#universes, timeReceivedMs }
  }

  #parseRows(data: unknown, channel: VenueChannel, timeReceivedMs: number): Frame {
    // The documentation shows candles as an array; the venue sends an object.
    if (channel.isArray && !Array.isArray(data)) return rejected('bad_shape')
    const rows: readonly unknown[] = Array.isArray(data) ? data : [data]
    const scope = { coins: this.#coins, timeReceivedMs }
    const events: MarketEvent[] = []
    const drops: Drop[] = []
    const lost = new Set<string>()
    const unlisted: MarkEvent[] = []
    for (const value of rows) {
      if (!isVenueObject(value)) {
        drops.push(drop('bad_row', 'data'))
        continue
      }
      const name = (value as Readonly<Record<string, unknown>>)[channel.coinField]
      const coin = typeof name === 'string' ? this.#coins.get(name) : undefined
      if (coin === undefined) {
        drops.push(drop('unknown_coin', channel.coinField))
        if (typeof name === 'string' && isFollowedName(name, this.#universes))
          unlisted.push(unlistedCoin(name, timeReceivedMs))
        continue
      }
      const row = channel.fields.parse(value, scope, drops, coin)
      const event =
        row === null ? null : channel.eventOf(row, channel.fields.at, coin, timeReceivedMs)
      if (typeof event === 'string') drops.push(drop(event, channel.name, coin))
      else if (event !== null) events.push(event)
      if (channel.isSentOnce && (event === null || typeof event === 'string')) lost.add(coin)
    }
    return {
      ...{ kind: 'events', events, drops },
      ...(lost.size > 0 && { lost: [...lost] }),
      ...(unlisted.length > 0 && { unlisted }),
    }
  }

  /** The venue normalises the echo, so only the requested members are read. */
  #acknowledgement(data: unknown): Frame {
    if (!isVenueObject(data) || !isVenueObject(data.subscription)) return rejected('bad_shape')
    return data.method === 'subscribe'
      ? this.#subscribed('acknowledged', data.subscription)
      : IGNORED
  }

  #refusal(text: string): Frame {
    const subscription = text.startsWith(ALREADY_SUBSCRIBED)
      ? parsedJson(text.slice(ALREADY_SUBSCRIBED.length))
      : undefined
    return isVenueObject(subscription) && typeof subscription.type === 'string'
      ? this.#subscribed('already-subscribed', subscription)
      : { kind: 'refused', text: text.slice(0, REFUSAL_LENGTH_MAX) }
  }

  #subscribed(
    kind: 'acknowledged' | 'already-subscribed',
    { type: channel, coin = null }: VenueObject,
  ): Frame {
    if (typeof channel !== 'string') return rejected('bad_shape')
    if (coin === null) return { kind, channel, coin }
    return typeof coin === 'string' && this.#coins.has(coin)
      ? { kind, channel, coin }
      : { kind: 'events', events: [], drops: [drop('unknown_coin', 'subscription')] }
  }
}

/** Carries the name alone, for the search for coins that are new: the frame's values are not read. */
function unlistedCoin(coin: string, timeReceivedMs: number): MarkEvent {
  return { kind: 'mark', coin, timeExchangeMs: timeReceivedMs, timeReceivedMs }
}
