import { BoundedMap } from '../../domain/bounded-map.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { LiquidationEvent } from '../../domain/event.ts'
import { parsedJson } from '../../domain/json.ts'
import type { LiquidationFill } from '../hyperliquid/wire/liquidation-fills.ts'
import { decodeFillPairs, liquidationEvents } from '../hyperliquid/wire/liquidation-fills.ts'
import type { Drop, DropReason } from '../hyperliquid/wire/rejection.ts'
import { drop } from '../hyperliquid/wire/rejection.ts'
import { isVenueObject } from '../hyperliquid/wire/values.ts'

export const CHANNEL = 'liquidationFills'
/** Frames that prove the subscription: its data, and acknowledgements as Hydromancer and as the venue name them. */
const OF_SUBSCRIPTION: ReadonlySet<unknown> = new Set([
  CHANNEL,
  'subscriptionUpdate',
  'subscriptionResponse',
])
/** Fills per frame: as many as the venue lists in one reply. */
const FILLS_MAX = 2_000
/** A fill is about the last day; older ones would change nothing. */
const AGE_MS_MAX = 24 * 3_600_000
/** Within this factor of the coin's present mark price, and of its open interest. */
const FIGURE_FACTOR_MAX = 2
/** Trades that are recognised when they are sent again; the oldest are removed first. */
const TRADES_KEPT_MAX = 16_384

/** What the venue itself reports of a coin; null before it did. */
type ReportedFigures = { readonly markPrice: number; readonly openInterestBase: number }

export type VendorFillsOptions = {
  /** Whether an account is a liquidator vault of the venue. */
  readonly isVault: (account: string) => boolean
  /** undefined for a coin that is not served. */
  readonly figuresOf: (coin: string) => ReportedFigures | null | undefined
  readonly onDrop: (drop: Drop) => void
}

export type ReadFills = {
  /** Each trade once. */
  readonly events: readonly LiquidationEvent[]
  /** No fill was lost with this frame, except of {@link lostCoins}. */
  readonly isComplete: boolean
  /** Served coins of which a fill was lost. */
  readonly lostCoins: readonly string[]
  /** The frame proves that the vendor sends the liquidations; a ping does not. */
  readonly isSubscribed: boolean
}

/** Reads the frames of a vendor, who is trusted no more than the venue's own figures allow. */
export class VendorFills {
  readonly #options: VendorFillsOptions
  /** The figures of each trade, by coin and identifier. */
  readonly #trades = new BoundedMap<string, string>(TRADES_KEPT_MAX)

  constructor(options: VendorFillsOptions) {
    this.#options = options
  }

  /** Frames of another kind contain no fills. @throws OperatingError if the vendor refuses the subscription */
  read(text: string, nowMs: number): ReadFills {
    const frame = parsedJson(text)
    if (!isVenueObject(frame)) return this.#rejected('bad_row', 'frame')
    if (frame.type === 'error' || frame.channel === 'error')
      throw new OperatingError('subscription_refused', 'the vendor refused the subscription')
    const isSubscribed = OF_SUBSCRIPTION.has(frame.type) || OF_SUBSCRIPTION.has(frame.channel)
    const isOfChannel = frame.type === CHANNEL || frame.channel === CHANNEL
    const { fills } = frame
    // An acknowledgement has no fills.
    if (!isOfChannel || fills === undefined)
      return { events: [], isComplete: true, lostCoins: [], isSubscribed }
    if (!Array.isArray(fills) || fills.length > FILLS_MAX) return this.#rejected('bad_row', 'fills')
    const { liquidations, drops } = decodeFillPairs(fills as readonly unknown[], nowMs)
    const taken: LiquidationFill[] = []
    const refused = [...drops]
    for (const fill of liquidations) {
      const reason = this.#refusal(fill, nowMs)
      if (reason !== null) refused.push(reason)
      else if (this.#isNew(fill)) taken.push(fill)
    }
    for (const one of refused) this.#options.onDrop(one)
    const events = liquidationEvents(taken, this.#options.isVault, nowMs)
    const lost = new Set(
      refused.filter(({ reason }) => reason !== 'unknown_coin').map(({ coin }) => coin),
    )
    const lostCoins = [...lost].filter((coin) => this.#isServed(coin))
    return {
      events: events.map((event) => ({ ...event, isFromVendor: true })),
      isComplete: lostCoins.length === lost.size,
      lostCoins,
      isSubscribed,
    }
  }

  #isServed(coin: string | null): coin is string {
    return coin !== null && this.#options.figuresOf(coin) !== undefined
  }

  #rejected(reason: DropReason, field: string): ReadFills {
    this.#options.onDrop(drop(reason, field))
    return { events: [], isComplete: false, lostCoins: [], isSubscribed: false }
  }

  #refusal(fill: LiquidationFill, nowMs: number): Drop | null {
    const { coin, markPrice, sizeBase, timeMs } = fill
    const figures = this.#options.figuresOf(coin)
    if (figures === undefined) return drop('unknown_coin', 'coin')
    if (timeMs < nowMs - AGE_MS_MAX) return drop('bad_time', 'time', coin)
    if (figures === null) return drop('doubtful_figure', 'markPx', coin)
    const ratio = markPrice / figures.markPrice
    if (!(Math.max(ratio, 1 / ratio) <= FIGURE_FACTOR_MAX))
      return drop('doubtful_figure', 'markPx', coin)
    if (!(sizeBase <= FIGURE_FACTOR_MAX * figures.openInterestBase))
      return drop('doubtful_figure', 'sz', coin)
    const known = this.#trades.get(keyOf(fill))
    if (known !== undefined && known !== figuresText(fill))
      return drop('doubtful_figure', 'tid', coin)
    return null
  }

  /** Both accounts of a trade have a fill, and a vendor sends fills again. */
  #isNew(fill: LiquidationFill): boolean {
    const key = keyOf(fill)
    if (this.#trades.has(key)) return false
    this.#trades.set(key, figuresText(fill))
    return true
  }
}

function keyOf({ coin, tradeId }: LiquidationFill): string {
  return `${coin} ${tradeId}`
}

function figuresText(fill: LiquidationFill): string {
  const { account, side, method, sizeBase, markPrice, timeMs } = fill
  return `${account} ${side} ${method} ${sizeBase} ${markPrice} ${timeMs}`
}
