import type { Clock } from '../domain/clock.ts'
import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { limitPolicy, WINDOW_SECONDS } from './rate-limit.ts'

export type NodeBudgetOptions = {
  readonly clock: Clock
  /** Payments of one address that may fail at a node or facilitator. */
  readonly failuresPerAddressPerMinute: number
  /** Payments of all addresses that may fail there; new and known payers have one budget each. */
  readonly failuresPerSecond: number
}

/** Why a payment may cause no request to a node. */
export type BudgetRefusal =
  | { readonly of: 'unverified'; readonly limit: LimitPolicy; readonly allowance: RateAllowance }
  | { readonly of: 'crowd' }

/** Ends the wait of a request; null admits it. */
type Waiter = (refusal: BudgetRefusal | null) => void

type Caller = {
  failed: number
  /** Payments that got no answer from the node within the last 10 s. */
  unanswered: number
  atNode: number
  /** Time at which `failed` is reset. */
  resetMs: number
  readonly waiting: Set<Waiter>
}

/** Tokens of known or of new payers. A payment holds one during its verification and loses it if it fails. */
type Lane = { tokens: number; isRefilling: boolean; readonly waiting: Set<Waiter> }

/** For one address, and for known or new payers. Each waiting request holds its connection open. */
const WAITING_MAX = 500
/** Longer than a queue of valid payments takes; clients wait 10 s or more. */
const WAIT_MS_MAX = 5_000
/**
 * After a request without an answer the address gets its place back this much later, so that one address cannot keep a
 * failing node busy.
 */
const UNANSWERED_MS = 10_000
/** Tokens of this many seconds may be used in a burst. */
const BURST_SECONDS = 2
const REFILLS_PER_SECOND = 10

/**
 * Bounds the requests to nodes and facilitators that unproven payments cause. The cost is reserved before the request
 * and returned if the payment was valid, so that a burst is bounded like a sequence. Known payers need no place for
 * their address and have tokens of their own.
 */
export class NodeBudget {
  readonly #options: NodeBudgetOptions
  readonly #policy: LimitPolicy
  readonly #callers = new Map<string, Caller>()
  readonly #lanes: Readonly<Record<'known' | 'new', Lane>>

  constructor(options: NodeBudgetOptions) {
    this.#options = options
    this.#policy = limitPolicy('unverified-payments', options.failuresPerAddressPerMinute)
    this.#lanes = { known: this.#lane(), new: this.#lane() }
  }

  /** For the payment of one request. The permit must be ended. */
  open(address: string): NodePermit {
    let caller: Caller | null = null
    let lane: Lane | null = null
    let outcome: 'good' | 'failed' | 'unanswered' = 'good'
    return {
      reserve: async () => {
        if (caller !== null) return null
        const found = this.#caller(address)
        const refusal = await this.#admit(found.waiting, () => this.#place(found))
        if (refusal === null) caller = found
        else this.#forget(address, found)
        return refusal
      },
      start: async (payer) => {
        if (lane !== null) return null
        const found = this.#lanes[payer]
        const refusal = await this.#admit(found.waiting, () => takeToken(found))
        if (refusal === null) lane = found
        return refusal
      },
      fail: () => {
        outcome = 'failed'
      },
      unanswered: () => {
        outcome = 'unanswered'
      },
      end: () => {
        if (lane !== null && outcome === 'good') lane.tokens += 1
        if (lane !== null) this.#refill(lane)
        const [place, ended] = [caller, outcome]
        caller = null
        lane = null
        outcome = 'good'
        // A known payer holds no place; its failure still counts for the address.
        if (ended === 'failed') this.#failed(address, place ?? this.#caller(address))
        if (place === null) return
        place.atNode -= 1
        if (ended === 'unanswered') this.#unanswered(address, place)
        this.#next(address, place)
      },
    }
  }

  #lane(): Lane {
    return { tokens: this.#capacity, isRefilling: false, waiting: new Set() }
  }

  get #capacity(): number {
    return this.#options.failuresPerSecond * BURST_SECONDS
  }

  #caller(address: string): Caller {
    const found = this.#callers.get(address)
    if (found !== undefined) return found
    const caller: Caller = { failed: 0, unanswered: 0, atNode: 0, resetMs: 0, waiting: new Set() }
    this.#callers.set(address, caller)
    return caller
  }

  #next(address: string, caller: Caller): void {
    serve(caller.waiting, () => this.#place(caller))
    this.#forget(address, caller)
  }

  #forget(address: string, { failed, unanswered, atNode, waiting }: Caller): void {
    if (failed + unanswered + atNode + waiting.size === 0) this.#callers.delete(address)
  }

  /** @returns undefined if the requests in progress decide */
  #place(caller: Caller): BudgetRefusal | null | undefined {
    const { failuresPerAddressPerMinute: max } = this.#options
    const used = caller.failed + caller.unanswered
    if (used >= max) return this.#exhausted(caller)
    if (used + caller.atNode >= max) return undefined
    caller.atNode += 1
    return null
  }

  #exhausted({ resetMs, unanswered }: Caller): BudgetRefusal {
    const leftMs = resetMs - this.#options.clock.nowMs()
    const leftSeconds = Math.ceil((unanswered > 0 ? UNANSWERED_MS : leftMs) / 1_000)
    const resetSeconds = Math.min(WINDOW_SECONDS, Math.max(1, leftSeconds))
    const allowance = { allowed: false, remaining: 0, resetSeconds }
    return { of: 'unverified', limit: this.#policy, allowance }
  }

  #failed(address: string, caller: Caller): void {
    const { clock } = this.#options
    caller.failed += 1
    if (caller.failed > 1) return
    caller.resetMs = clock.nowMs() + WINDOW_SECONDS * 1_000
    clock.after(WINDOW_SECONDS * 1_000, () => {
      caller.failed = 0
      this.#next(address, caller)
    })
  }

  #unanswered(address: string, caller: Caller): void {
    caller.unanswered += 1
    this.#options.clock.after(UNANSWERED_MS, () => {
      caller.unanswered -= 1
      this.#next(address, caller)
    })
  }

  #refill(lane: Lane): void {
    const { clock, failuresPerSecond } = this.#options
    lane.tokens = Math.min(lane.tokens, this.#capacity)
    serve(lane.waiting, () => takeToken(lane))
    if (lane.isRefilling || lane.tokens >= this.#capacity) return
    lane.isRefilling = true
    clock.after(1_000 / REFILLS_PER_SECOND, () => {
      lane.isRefilling = false
      lane.tokens += failuresPerSecond / REFILLS_PER_SECOND
      this.#refill(lane)
    })
  }

  /** Attempts now, or waits in the queue for at most `WAIT_MS_MAX`. */
  #admit(
    waiting: Set<Waiter>,
    attempt: () => BudgetRefusal | null | undefined,
  ): Promise<BudgetRefusal | null> {
    const now = waiting.size === 0 ? attempt() : undefined
    if (now !== undefined) return Promise.resolve(now)
    if (waiting.size >= WAITING_MAX) return Promise.resolve({ of: 'crowd' })
    return new Promise((resolve) => {
      const waiter: Waiter = (refusal) => {
        waiting.delete(waiter)
        cancel()
        resolve(refusal)
      }
      const cancel = this.#options.clock.after(WAIT_MS_MAX, () => waiter({ of: 'crowd' }))
      waiting.add(waiter)
    })
  }
}

/** What one payment holds of the budget. */
export type NodePermit = {
  /** Reserves one of the failures that the address may have. Not for known payers. */
  reserve(): Promise<BudgetRefusal | null>
  /** Takes a token for a request of this payment alone. */
  start(payer: 'known' | 'new'): Promise<BudgetRefusal | null>
  /** The payment is invalid: what it holds is used up. */
  fail(): void
  /** The node did not answer: the place is returned later. */
  unanswered(): void
  /** Returns what it holds, unless the payment failed. */
  end(): void
}

function takeToken(lane: Lane): null | undefined {
  if (lane.tokens < 1) return undefined
  lane.tokens -= 1
  return null
}

/** Serves waiters in order until one has to wait on. */
function serve(
  waiting: ReadonlySet<Waiter>,
  attempt: () => BudgetRefusal | null | undefined,
): void {
  for (const waiter of waiting) {
    const result = attempt()
    if (result === undefined) return
    waiter(result)
  }
}
