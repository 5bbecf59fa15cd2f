import type { AccountPositionEvent, Stamped } from '../../../domain/event.ts'
import type { Position } from '../wire/account-state.ts'

/** Accounts of which it is remembered what they hold; more than are asked in a round. */
export const ACCOUNTS_MAX = 512

/**
 * Whom the engine believes to hold what, so that it hears of a position that is gone: the venue tells
 * only of those that are there. An account that is forgotten counts as holding nothing.
 */
export class AccountBook {
  /** Coins of those with positions; the ones heard of longest ago first. */
  readonly #coins = new Map<string, ReadonlySet<string>>()

  /**
   * An account as of one reply.
   * @param unread coins of which it holds something unknown: what was told of them stays
   */
  take(
    account: string,
    told: { readonly positions: readonly Position[]; readonly unread: readonly string[] },
    stamp: Stamped,
  ): readonly AccountPositionEvent[] {
    const before = this.#coins.get(account) ?? new Set<string>()
    const stays = told.unread.filter((coin) => before.has(coin))
    const coins = new Set([...told.positions.map(({ coin }) => coin), ...stays])
    const events: AccountPositionEvent[] = told.positions.map((position) => ({
      kind: 'account-position',
      account,
      ...position,
      ...stamp,
    }))
    for (const coin of before) if (!coins.has(coin)) events.push(gone(account, coin, stamp))
    this.#coins.delete(account)
    if (coins.size > 0) this.#coins.set(account, coins)
    if (this.#coins.size > ACCOUNTS_MAX) events.push(...this.#forgetOldest(stamp))
    return events
  }

  #forgetOldest(stamp: Stamped): readonly AccountPositionEvent[] {
    const [oldest] = this.#coins
    if (oldest === undefined) return []
    const [account, coins] = oldest
    this.#coins.delete(account)
    return [...coins].map((coin) => gone(account, coin, stamp))
  }
}

function gone(account: string, coin: string, stamp: Stamped): AccountPositionEvent {
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
