import type { AccountPositionEvent } from '../../domain/event.ts'
import type { Side } from './leverage-ladder.ts'

/** Accounts of one coin; the oldest replies are removed first. */
const ACCOUNTS_MAX = 256
/** Every account is requested more often; an older position may be closed. */
const POSITION_AGE_MS_MAX = 30 * 60_000

export type ObservedPosition = {
  readonly side: Side
  readonly sizeBase: number
  readonly leverage: number
  /** null where no price liquidates the position; it is then not on the map. */
  readonly liquidationPrice: number | null
  readonly timeMs: number
}

/** Known positions of single accounts in one coin. Not saved, because they are requested again within minutes. */
export class ObservedPositions {
  /** By account, oldest reply first. */
  readonly #positions = new Map<string, ObservedPosition>()

  get size(): number {
    return this.#positions.size
  }

  values(): IterableIterator<ObservedPosition> {
    return this.#positions.values()
  }

  apply(event: AccountPositionEvent): void {
    const { account, sizeBase, leverage, liquidationPrice, timeExchangeMs } = event
    this.#positions.delete(account)
    if (!Number.isFinite(sizeBase) || sizeBase === 0) return
    this.#positions.set(account, {
      side: sizeBase > 0 ? 'long' : 'short',
      sizeBase: Math.abs(sizeBase),
      leverage,
      liquidationPrice,
      timeMs: timeExchangeMs,
    })
    if (this.#positions.size <= ACCOUNTS_MAX) return
    for (const oldest of this.#positions.keys()) {
      this.#positions.delete(oldest)
      break
    }
  }

  /** Removes positions that this mark price liquidates. */
  mark(price: number): void {
    for (const [account, { side, liquidationPrice }] of this.#positions) {
      if (liquidationPrice === null) continue
      const isGone = side === 'long' ? price <= liquidationPrice : price >= liquidationPrice
      if (isGone) this.#positions.delete(account)
    }
  }

  /** Removes positions of old replies. */
  expire(nowMs: number): void {
    for (const [account, { timeMs }] of this.#positions) {
      if (nowMs - timeMs > POSITION_AGE_MS_MAX) this.#positions.delete(account)
    }
  }
}
