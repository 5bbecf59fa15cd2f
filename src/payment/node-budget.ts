import type { Clock } from '../domain/clock.ts'
import type { LimitPolicy, RateAllowance } from './rate-limit.ts'
import { limitPolicy, WINDOW_SECONDS } from './rate-limit.ts'

export type NodeBudgetOptions = {
  readonly clock: Clock
  /** Payments of one address that may fail at a node or a facilitator. */
  readonly failuresPerAddressPerMinute: number
  /** Payments of all addresses that may fail there, of new payers and again of known ones. */
  readonly failuresPerSecond: number
}

/** Why a payment is not taken to a node. */
export type BudgetRefusal =
  | { readonly of: 'unverified'; readonly limit: LimitPolicy; readonly allowance: RateAllowance }
  | { readonly of: 'crowd' }

/** A request that waits, and how its wait ends: null when it is admitted. */
type Waiter = (refusal: BudgetRefusal | null) => void

type Caller = {
  failed: number
  /** Of payments that nobody answered a moment ago. */
  unanswered: number
  atNode: number
  /** When its failures are forgotten. */
  resetMs: number
  readonly waiting: Set<Waiter>
}

/** Tokens of one kind of payer: a payment holds one while it is verified, and loses it if it fails. */
type Lane = { tokens: number; isRefilling: boolean; readonly waiting: Set<Waiter> }

/** Of one address, and of one kind of payer. Each holds its connection open. */
const WAITING_MAX = 500
/** Longer than a queue of good payments takes; a client waits 10 s or more for its answer. */
const WAIT_MS_MAX = 5_000
/**
 * What a node did not answer is nobody's fault, but it was asked: a place comes back this much later, so that an address
 * cannot keep a node busy that answers no more.
 */
const UNANSWERED_MS = 10_000
/** How many seconds' worth of tokens may be used at once. */
const BURST_SECONDS = 2
const REFILLS_PER_SECOND = 10

/**
 * Every question to a node or a facilitator that an unproven payment causes passes here. Its cost is reserved
 * before the question and given back when the payment was good, so requests sent all at once are
 * bounded like requests sent one by one. Known payers wait for no address and have tokens of their own.
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

  /** For one payment from one address. It must be ended. */
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
        // A known payer holds no place, and its failure counts like that of others.
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

  /** @returns undefined where only those at the node now can tell */
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

  /** Tries now, or waits its turn among the others for as long as that may take. */
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

/** What one payment holds on its way to a node. */
export type NodePermit = {
  /** A place among the failures that its address may have. Not for known payers. */
  reserve(): Promise<BudgetRefusal | null>
  /** A token for a question of its own. */
  start(payer: 'known' | 'new'): Promise<BudgetRefusal | null>
  /** The payment was found wrong, and what it holds is used up. */
  fail(): void
  /** Nobody answered: what it holds comes back later. */
  unanswered(): void
  /** Gives back what it holds, unless it failed. */
  end(): void
}

function takeToken(lane: Lane): null | undefined {
  if (lane.tokens < 1) return undefined
  lane.tokens -= 1
  return null
}

/** First come, first served, until one has to go on waiting. */
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
