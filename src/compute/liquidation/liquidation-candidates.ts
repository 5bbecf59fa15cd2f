import type {
  AccountPositionEvent,
  FillsWindow,
  MarketEvent,
  TradeEvent,
} from '../../domain/event.ts'
import type { MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { charactersOf, joinSections, splitSections, textOf } from '../market/saved-sections.ts'
import type { ObservedPosition } from './observed-positions.ts'
import { accountOf, accountToNumbers, NUMBERS_PER_ACCOUNT } from './saved-account.ts'

/** The mark moves between two frames, and a cross-margined account's liquidation price with other coins. */
const NEAR = 0.02
/** A closing of this share of the position is examined at any price: known prices are minutes old. */
const LARGE_SHARE = 0.05
/** A position that became smaller unseen may have been liquidated at a price that no frame shows. */
const NEAR_UNSEEN = 0.05
/** Smaller changes of a position are not examined. */
const SHRINKAGE_MIN = 0.1
/** Fills of the same block have one time; the trades of the tape have it too. */
const MARGIN_MS = 1_000
/** The venue serves a fill after this time. */
const SERVED_AFTER_MS = 3_000
/** One request covers the candidates of this time: an account has several fills, and a vault unwinds for minutes. */
const ACCOUNT_COLLECT_MS = 10_000
const VAULT_COLLECT_MS = 60_000
/** If accounts wait, one request for a vault covers this time: it shows the backstops of all accounts. */
const VAULT_LATE_MS = 180_000
const UNLIKELY_COLLECT_MS = 120_000
/** An unlikely closing is as urgent as a likely one of this share of its notional. */
const UNLIKELY_SHARE = 0.1
/** Accounts with a known position or a candidate; the least recently updated are removed first. */
const ACCOUNTS_MAX = 1_024
/** Every account is requested more often. */
const POSITION_AGE_MS_MAX = 60 * 60_000

const LAYOUT = 7_303
const WINDOW_FIELDS = NUMBERS_PER_ACCOUNT + 4
const POSITION_FIELDS = NUMBERS_PER_ACCOUNT + 4
/** The name of the coin follows these fields. */
const CLOSING_FIELDS = NUMBERS_PER_ACCOUNT + 2

type Followed = Omit<ObservedPosition, 'leverage'> & {
  /** Not the string of a trade, which would keep its whole frame in memory. */
  readonly account: string
}

/** Share of its position that an account has closed at one instant: an order is filled by any number of others. */
type Closing = {
  readonly account: string
  readonly coin: string
  readonly timeMs: number
  readonly share: number
}

/** Likely: a vault's, or of an account whose known liquidation price the mark has reached. */
type Suspicion = {
  fromMs: number
  untilMs: number
  isLikely: boolean
  /** What may have been liquidated, in quote units; of unlikely closings a share. */
  notional: number
}

type Suspected = Omit<Suspicion, 'isLikely'> & {
  readonly account: string
  readonly isLikely?: boolean
}

/**
 * Chooses the accounts whose fills are requested, because a trade on the tape may be a liquidation: a liquidator vault
 * takes part in it, or a followed account closes its position as a taker while the mark is at its liquidation price, or
 * closes a large part of it at any price. The venue's mark on the fill confirms a candidate; an unwinding vault and an
 * ordinary closing have none and are dropped. A deleveraging has the mark and is dropped by its direction.
 */
export class LiquidationCandidates implements MarketTracker {
  readonly inputs = [
    'trade',
    'mark',
    'context',
    'account-position',
    'trade-gap',
    'fills-read',
    'liquidator-vaults',
  ] as const
  /** Each address by itself, for the same reason. */
  #vaults = new Map<string, string>()
  /** By account, then by coin. */
  readonly #followed = new Map<string, Map<string, Followed>>()
  readonly #marks = new Map<string, number>()
  readonly #windows = new Map<string, Suspicion>()
  /** The newest one. All trades of an order arrive one after the other. */
  #closing: Closing | null = null

  apply(event: MarketEvent): void {
    switch (event.kind) {
      case 'trade':
        this.#trade(event)
        break
      case 'mark':
        if (event.markPrice !== undefined) this.#marks.set(event.coin, event.markPrice)
        break
      case 'context':
        this.#marks.set(event.coin, event.markPrice)
        break
      case 'account-position':
        this.#position(event)
        break
      case 'trade-gap':
        this.#lost(event.coin, event.fromMs, event.toMs)
        break
      case 'fills-read':
        this.#read(event)
        break
      case 'liquidator-vaults':
        this.#vaults = new Map(event.accounts.map((account) => [account, account]))
        break
      default:
    }
  }

  advance(): void {}

  /**
   * The fills that are due: of a vault that waits for long, else of the account of which most may have been liquidated,
   * else of a vault; null for none. So the known notional is the largest if there are more candidates than requests.
   * @param venueMs by the venue's clock
   * @param isDeferred whether an account is passed over: its fills could not be read, and it would be the next again
   */
  next(
    venueMs: number,
    isDeferred: (account: string) => boolean = () => false,
  ): FillsWindow | null {
    let next: FillsWindow | null = null
    let nextRank = Number.NEGATIVE_INFINITY
    for (const [account, { fromMs, untilMs, isLikely, notional }] of this.#windows) {
      const dueMs = fromMs + (isLikely ? this.#collectMs(account) : UNLIKELY_COLLECT_MS)
      if (dueMs > venueMs || isDeferred(account)) continue
      const isLate = venueMs - fromMs >= VAULT_LATE_MS
      const ofVault = isLate ? Number.MAX_VALUE : -1
      const rank = this.#vaults.has(account) ? ofVault : notional
      if (rank <= nextRank) continue
      next = { account, fromMs, untilMs: Math.min(untilMs, venueMs - SERVED_AFTER_MS) }
      nextRank = rank
    }
    return next
  }

  #collectMs(account: string): number {
    return this.#vaults.has(account) ? VAULT_COLLECT_MS : ACCOUNT_COLLECT_MS
  }

  save(): Float64Array {
    const coins = new Map<string, number[]>()
    for (const [account, positions] of this.#followed)
      for (const [coin, { side, sizeBase, liquidationPrice, timeMs }] of positions) {
        const rows = coins.get(coin) ?? []
        coins.set(coin, rows)
        const sign = side === 'long' ? 1 : -1
        const price = liquidationPrice ?? Number.NaN
        rows.push(...accountToNumbers(account), sign, sizeBase, price, timeMs)
      }
    const closing = this.#closing
    return joinSections([
      [LAYOUT],
      closing === null
        ? []
        : [
            ...accountToNumbers(closing.account),
            ...[closing.timeMs, closing.share, ...charactersOf(closing.coin)],
          ],
      [...this.#vaults.keys()].flatMap(accountToNumbers),
      [...this.#windows].flatMap(([account, { fromMs, untilMs, isLikely, notional }]) => [
        ...accountToNumbers(account),
        ...[fromMs, untilMs, isLikely ? 1 : 0, notional],
      ]),
      ...[...coins].flatMap(([coin, rows]) => [charactersOf(coin), rows]),
    ])
  }

  restore(saved: Float64Array): boolean {
    const [header, closing, vaults, windows, ...coins] = splitSections(saved) ?? []
    if (header?.[0] !== LAYOUT || header.length !== 1 || !closing || !vaults || !windows)
      return false
    if (closing.length !== 0 && closing.length <= CLOSING_FIELDS) return false
    if (vaults.length % NUMBERS_PER_ACCOUNT !== 0 || windows.length % WINDOW_FIELDS !== 0)
      return false
    if (coins.length % 2 !== 0) return false
    if (closing.length > 0) {
      const [timeMs = 0, share = 0] = closing.subarray(NUMBERS_PER_ACCOUNT)
      const coin = textOf(closing.subarray(CLOSING_FIELDS))
      this.#closing = { account: accountOf(closing, 0), coin, timeMs, share }
    }
    for (let at = 0; at < vaults.length; at += NUMBERS_PER_ACCOUNT) {
      const vault = accountOf(vaults, at)
      this.#vaults.set(vault, vault)
    }
    for (let at = 0; at < windows.length; at += WINDOW_FIELDS) {
      const [fromMs = 0, untilMs = 0, likely, notional = 0] = windows.subarray(
        at + NUMBERS_PER_ACCOUNT,
      )
      const isLikely = likely === 1
      this.#windows.set(accountOf(windows, at), { fromMs, untilMs, isLikely, notional })
    }
    for (let at = 0; at < coins.length; at += 2) {
      const coin = textOf(coins[at] as Float64Array)
      this.#restorePositions(coin, coins[at + 1] as Float64Array)
    }
    return true
  }

  #restorePositions(coin: string, rows: Float64Array): void {
    for (let at = 0; at + POSITION_FIELDS <= rows.length; at += POSITION_FIELDS) {
      const [sign = 1, sizeBase = 0, price = 0, timeMs = 0] = rows.subarray(
        at + NUMBERS_PER_ACCOUNT,
      )
      const liquidationPrice = Number.isNaN(price) ? null : price
      const account = accountOf(rows, at)
      const side = sign > 0 ? 'long' : 'short'
      const position = { account, side, sizeBase, liquidationPrice, timeMs } as const
      this.#positionsOf(account).set(coin, position)
    }
  }

  #trade(trade: TradeEvent): void {
    const { coin, takerSide, price, sizeBase, buyer, seller, timeExchangeMs: timeMs } = trade
    if (buyer === undefined || seller === undefined) return
    const vault = this.#vaults.get(buyer) ?? this.#vaults.get(seller)
    const notional = sizeBase * price
    const at = { fromMs: timeMs, untilMs: timeMs, notional }
    if (vault !== undefined) this.#suspect({ account: vault, ...at })
    const taker = takerSide === 'buy' ? buyer : seller
    const position = this.#followed.get(taker)?.get(coin)
    if (position === undefined || (position.side === 'long') === (takerSide === 'buy')) return
    // No event closes a position that was closed while the engine was down.
    if (timeMs - position.timeMs > POSITION_AGE_MS_MAX) return
    const isLikely = isReached(position, this.#marks.get(coin) ?? price, NEAR)
    const share = this.#closed(position, trade)
    if (isLikely || share >= LARGE_SHARE)
      this.#suspect({ account: position.account, ...at, isLikely })
  }

  /** @returns the share of a position that is closed at this instant, so far */
  #closed(
    { account, sizeBase: heldBase }: Followed,
    { coin, sizeBase, timeExchangeMs: timeMs }: TradeEvent,
  ): number {
    const before = this.#closing
    const isSame = before?.account === account && before.coin === coin && before.timeMs === timeMs
    const share = (isSame ? before.share : 0) + sizeBase / heldBase
    this.#closing = { account, coin, timeMs, share }
    return share
  }

  #position(event: AccountPositionEvent): void {
    const { account, coin, liquidationPrice, timeExchangeMs: timeMs } = event
    const before = this.#followed.get(account)?.get(coin)
    const sizeBase = Math.abs(event.sizeBase)
    const mark = this.#marks.get(coin)
    if (before !== undefined && mark !== undefined) {
      const isSmaller = sizeBase < before.sizeBase * (1 - SHRINKAGE_MIN)
      if (isSmaller && isReached(before, mark, NEAR_UNSEEN))
        this.#suspect({
          ...{ account, fromMs: before.timeMs, untilMs: timeMs },
          notional: (before.sizeBase - sizeBase) * mark,
        })
    }
    const positions = this.#positionsOf(account)
    const side = event.sizeBase > 0 ? 'long' : 'short'
    if (sizeBase === 0) positions.delete(coin)
    else positions.set(coin, { account, side, sizeBase, liquidationPrice, timeMs })
    this.#followed.delete(account)
    if (positions.size > 0) this.#followed.set(account, positions)
    if (this.#followed.size > ACCOUNTS_MAX) removeOldest(this.#followed)
  }

  #positionsOf(account: string): Map<string, Followed> {
    const known = this.#followed.get(account)
    if (known !== undefined) return known
    const positions = new Map<string, Followed>()
    this.#followed.set(account, positions)
    return positions
  }

  /** Trades are missing: they may have been liquidations of positions that are near their price, or by a vault. */
  #lost(coin: string, fromMs: number, toMs: number): void {
    const lost = { fromMs, untilMs: toMs }
    for (const account of this.#vaults.keys()) this.#suspect({ account, ...lost, notional: 0 })
    const mark = this.#marks.get(coin)
    if (mark === undefined) return
    for (const [account, positions] of this.#followed) {
      const position = positions.get(coin)
      if (position === undefined || toMs - position.timeMs > POSITION_AGE_MS_MAX) continue
      if (isReached(position, mark, NEAR_UNSEEN))
        this.#suspect({ account, ...lost, notional: position.sizeBase * mark })
    }
  }

  #suspect({ account, fromMs, untilMs, isLikely = true, ...of }: Suspected): void {
    const [startMs, endMs] = [fromMs - MARGIN_MS, untilMs + MARGIN_MS]
    const notional = isLikely ? of.notional : UNLIKELY_SHARE * of.notional
    const window = this.#windows.get(account)
    if (window === undefined)
      this.#windows.set(account, { fromMs: startMs, untilMs: endMs, isLikely, notional })
    else {
      window.notional += notional
      window.fromMs = Math.min(window.fromMs, startMs)
      window.untilMs = Math.max(window.untilMs, endMs)
      window.isLikely ||= isLikely
    }
    if (this.#windows.size > ACCOUNTS_MAX) removeOldest(this.#windows)
  }

  #read({ account, fromMs, untilMs }: FillsWindow): void {
    const window = this.#windows.get(account)
    if (window === undefined || window.fromMs < fromMs) return
    if (untilMs >= window.untilMs) this.#windows.delete(account)
    else window.fromMs = Math.max(window.fromMs, untilMs + 1)
  }
}

/** Whether the mark is beyond a liquidation price, or nearer to it than a fraction. */
function isReached({ side, liquidationPrice }: Followed, mark: number, near: number): boolean {
  if (liquidationPrice === null) return false
  return side === 'long'
    ? mark <= liquidationPrice * (1 + near)
    : mark >= liquidationPrice * (1 - near)
}

function removeOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

export const liquidationCandidates = marketTracker(
  'market/liquidation-candidates',
  () => new LiquidationCandidates(),
)
