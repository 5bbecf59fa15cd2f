import type { AccountPositionEvent, Stamped } from '../../../domain/event.ts'
import type { Position } from '../wire/account-state.ts'

/** More accounts than one round of requests covers. */
export const ACCOUNTS_MAX = 512

/**
 * The positions that the engine knows per account. The venue reports open positions only, so this book derives the closed
 * ones. An account that is removed counts as closed.
 */
export class AccountBook {
  /** Coins per account with positions; the least recently updated account first. */
  readonly #coins = new Map<string, ReadonlySet<string>>()

  /**
   * @param reply `unread` coins have an unreadable position: their known one stays
   */
  update(
    account: string,
    reply: { readonly positions: readonly Position[]; readonly unread: readonly string[] },
    stamp: Stamped,
  ): readonly AccountPositionEvent[] {
    const before = this.#coins.get(account) ?? new Set<string>()
    const stays = reply.unread.filter((coin) => before.has(coin))
    const coins = new Set([...reply.positions.map(({ coin }) => coin), ...stays])
    const events: AccountPositionEvent[] = reply.positions.map((position) => ({
      kind: 'account-position',
      account,
      ...position,
      ...stamp,
    }))
    for (const coin of before) if (!coins.has(coin)) events.push(closed(account, coin, stamp))
    this.#coins.delete(account)
    if (coins.size > 0) this.#coins.set(account, coins)
    if (this.#coins.size > ACCOUNTS_MAX) events.push(...this.#removeOldest(stamp))
    return events
  }

  #removeOldest(stamp: Stamped): readonly AccountPositionEvent[] {
    const [oldest] = this.#coins
    if (oldest === undefined) return []
    const [account, coins] = oldest
    this.#coins.delete(account)
    return [...coins].map((coin) => closed(account, coin, stamp))
  }
}

function closed(account: string, coin: string, stamp: Stamped): AccountPositionEvent {
  return {
    kind: 'account-position',
    coin,
    account,
    sizeBase: 0,
    entryPrice: 0,
    leverage: 0,
    liquidationPrice: null,
    ...stamp,
  }
}
