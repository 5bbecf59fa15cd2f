import { BoundedMap } from '../domain/bounded-map.ts'

const WRONG_MAX = 10
const WINDOW_MS = 60_000
const ADDRESSES_MAX = 1_024

type Count = { readonly wrong: number; readonly endsAtMs: number }

/** Counts wrong admin tokens by address: after 10 within a minute no token of the address is read until it ends. */
export class WrongTokens {
  readonly #counts = new BoundedMap<string, Count>(ADDRESSES_MAX)

  /** @returns seconds until tokens of this address are read again; 0 if they are */
  blockedSeconds(address: string, nowMs: number): number {
    const count = this.#counts.get(address)
    if (count === undefined || hasEnded(count, nowMs) || count.wrong < WRONG_MAX) return 0
    return Math.ceil((count.endsAtMs - nowMs) / 1_000)
  }

  add(address: string, nowMs: number): void {
    const before = this.#counts.get(address)
    const isNew = before === undefined || hasEnded(before, nowMs)
    this.#counts.set(address, {
      wrong: isNew ? 1 : before.wrong + 1,
      endsAtMs: isNew ? nowMs + WINDOW_MS : before.endsAtMs,
    })
  }
}

/** A clock that was set back does not extend the minute. */
function hasEnded({ endsAtMs }: Count, nowMs: number): boolean {
  return nowMs >= endsAtMs || nowMs < endsAtMs - WINDOW_MS
}
