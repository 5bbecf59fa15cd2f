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
    if (count === undefined || nowMs >= count.endsAtMs || count.wrong < WRONG_MAX) return 0
    return Math.ceil((count.endsAtMs - nowMs) / 1_000)
  }

  add(address: string, nowMs: number): void {
    const before = this.#counts.get(address)
    const isNew = before === undefined || nowMs >= before.endsAtMs
    this.#counts.set(address, {
      wrong: isNew ? 1 : before.wrong + 1,
      endsAtMs: isNew ? nowMs + WINDOW_MS : before.endsAtMs,
    })
  }
}
