import { sha256, stringToBytes } from 'viem'
import type { Clock } from '../../../domain/clock.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'
import type { PriceFeed } from './price-feeds.ts'
import { priceFeedsOf } from './price-feeds.ts'

/** Every update of a stream holds all of its feeds. */
const UPDATE_PERIOD_MS = 400
const STREAM_MS_MAX = 24 * 3_600_000
/** Requests in ten seconds; more are refused for a minute. */
const LIMIT_WINDOW_MS = 10_000
const REQUESTS_MAX = 10
/** With a key. */
const KEYED_REQUESTS_MAX = 30
const PENALTY_MS = 60_000
const BPS = 1e-4
/** The plan of this key includes the core feeds only. */
const TRIAL_KEY = 'trial'
const TRIAL_ASSETS: ReadonlySet<string> = new Set(['BTC', 'ETH', 'SOL', 'USDC', 'USDT'])

const NO_KEY = refusal(401, 'Unauthorized')
const TOO_MANY = refusal(429, 'Too many requests')

/** Hermes: the list of feeds is public, prices need a key, and every key is valid. */
export function hermes(reference: ReferencePrices, clock: Clock): Upstream {
  return new Hermes(reference, clock)
}

class Hermes implements Upstream {
  readonly #reference: ReferencePrices
  readonly #clock: Clock
  readonly #feeds: readonly PriceFeed[]
  readonly #byId: ReadonlyMap<string, PriceFeed>
  /** Recent requests by key. */
  readonly #clients = new Map<string, { requestedMs: number[]; refusedUntilMs: number }>()
  /** The last published price by asset. */
  readonly #published = new Map<string, { publishTime: number; usd: number | undefined }>()

  constructor(reference: ReferencePrices, clock: Clock) {
    this.#reference = reference
    this.#clock = clock
    this.#feeds = priceFeedsOf(reference.assets)
    this.#byId = new Map(this.#feeds.map((feed) => [feed.id, feed]))
  }

  request(request: UpstreamRequest): UpstreamReply {
    const { path, query } = request
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (this.#isTooMuch(key)) return TOO_MANY
    if (path === '/v2/price_feeds') return this.#catalogue(query)
    const asked = /^\/v2\/updates\/price\/(latest|stream|\d{1,12})$/.exec(path)?.[1]
    if (asked === undefined) return refusal(404, 'Not Found')
    if (key === '') return NO_KEY
    const found = this.#find(query, key)
    if ('status' in found) return found
    if (asked === 'stream') return this.#stream(found.feeds, query)
    const newestMs = this.#reference.newestMs('pyth-hermes', this.#clock.nowMs())
    const atMs = asked === 'latest' ? newestMs : Number(asked) * 1_000
    if (atMs > newestMs) return refusal(404, 'Update data not found')
    return { status: 200, body: JSON.stringify(this.#update(found.feeds, query, atMs)) }
  }

  #isTooMuch(key: string): boolean {
    const nowMs = this.#clock.nowMs()
    const client = this.#clients.get(key) ?? { requestedMs: [], refusedUntilMs: 0 }
    this.#clients.set(key, client)
    if (nowMs < client.refusedUntilMs) return true
    client.requestedMs = [
      ...client.requestedMs.filter((atMs) => atMs > nowMs - LIMIT_WINDOW_MS),
      nowMs,
    ]
    if (client.requestedMs.length <= (key === '' ? REQUESTS_MAX : KEYED_REQUESTS_MAX)) return false
    client.refusedUntilMs = nowMs + PENALTY_MS
    return true
  }

  #catalogue(query: URLSearchParams): UpstreamReply {
    const part = (query.get('query') ?? '').toLowerCase()
    const type = (query.get('asset_type') ?? '').toLowerCase()
    const rows = this.#feeds.filter(
      ({ attributes: { symbol = '', asset_type = '' } }) =>
        symbol.toLowerCase().includes(part) && (type === '' || asset_type.toLowerCase() === type),
    )
    const body = JSON.stringify(rows.map(({ id, attributes }) => ({ id, attributes })))
    return { status: 200, body }
  }

  #find(
    query: URLSearchParams,
    key: string,
  ): { readonly feeds: readonly PriceFeed[] } | { readonly status: number; readonly body: string } {
    const ids = query.getAll('ids[]').map((id) => id.toLowerCase().replace(/^0x/, ''))
    const malformed = ids.find((id) => !/^[0-9a-f]{64}$/.test(id))
    if (ids.length === 0 || malformed !== undefined)
      return refusal(400, 'Failed to deserialize query string: invalid price id')
    const unknown = ids.filter((id) => !this.#byId.has(id))
    if (unknown.length > 0 && query.get('ignore_invalid_price_ids') !== 'true')
      return refusal(404, `Price ids not found: ${unknown.map((id) => `0x${id}`).join(', ')}`)
    const feeds = [...new Set(ids)].flatMap((id) => this.#byId.get(id) ?? [])
    const beyond = feeds.find(({ asset }) => key === TRIAL_KEY && !TRIAL_ASSETS.has(asset))
    if (beyond === undefined) return { feeds }
    const why = "no grant accepts this feed (asset type 'crypto', instrument type 'spot')"
    return refusal(403, `Not entitled: feed ${beyond.id} (${why})`)
  }

  #stream(feeds: readonly PriceFeed[], query: URLSearchParams): UpstreamReply {
    return {
      contentType: 'text/event-stream',
      start: (write, end) => {
        const send = () => {
          const newestMs = this.#reference.newestMs('pyth-hermes', this.#clock.nowMs())
          write(`data:${JSON.stringify(this.#update(feeds, query, newestMs))}\n\n`)
        }
        send()
        const stopSending = this.#clock.every(UPDATE_PERIOD_MS, send)
        const stopTimer = this.#clock.after(STREAM_MS_MAX, end)
        return () => {
          stopSending()
          stopTimer()
        }
      },
    }
  }

  #update(feeds: readonly PriceFeed[], query: URLSearchParams, atMs: number) {
    const encoding = query.get('encoding') === 'base64' ? 'base64' : 'hex'
    const parsed = feeds.flatMap((feed) => this.#priceOf(feed, atMs) ?? [])
    const proof = sha256(stringToBytes(JSON.stringify(parsed))).slice(2)
    const data = [Buffer.from(`504e4155${proof}`, 'hex').toString(encoding)]
    const isParsed = query.get('parsed') !== 'false'
    return { binary: { encoding, data }, parsed: isParsed ? parsed : null }
  }

  #priceOf({ id, asset, factor }: PriceFeed, atMs: number) {
    const publishTime = Math.floor(atMs / 1_000)
    const seenUsd = this.#seenUsd(asset, publishTime)
    if (seenUsd === undefined) return undefined
    const confidence = this.#reference.confidenceBps('pyth-hermes', asset, atMs) * BPS
    const expo = exponentOf(seenUsd)
    const scaled = (usd: number) => ({
      price: integer(usd * factor, expo),
      conf: integer(usd * factor * confidence, expo),
      expo,
      publish_time: publishTime,
    })
    return {
      id,
      price: scaled(seenUsd),
      ema_price: scaled(this.#reference.averageUsd('pyth-hermes', asset, atMs) ?? seenUsd),
      metadata: {
        slot: Math.floor(atMs / UPDATE_PERIOD_MS),
        proof_available_time: publishTime + 1,
        prev_publish_time: Math.floor((atMs - UPDATE_PERIOD_MS) / 1_000),
      },
    }
  }

  /** As of the second of publication, the same for all streams. */
  #seenUsd(asset: string, publishTime: number): number | undefined {
    const known = this.#published.get(asset)
    if (known?.publishTime === publishTime) return known.usd
    const usd = this.#reference.seenUsd('pyth-hermes', asset, publishTime * 1_000)
    this.#published.set(asset, { publishTime, usd })
    return usd
  }
}

/** Eight decimals, more for prices below a cent. */
function exponentOf(usd: number): number {
  if (usd >= 0.01) return -8
  return usd >= 1e-4 ? -10 : -14
}

function integer(usd: number, exponent: number): string {
  return BigInt(Math.round(usd * 10 ** -exponent)).toString()
}

function refusal(status: number, body: string) {
  return { status, body, contentType: 'text/plain; charset=utf-8' }
}
