import assert from 'node:assert/strict'
import type { MarketEvent } from '../domain/event.ts'
import type { Timeframe } from '../domain/timeframe.ts'
import type { CoinDocumentKind } from './analysis.ts'

/** A round is one period; in each of its phases another share of the coins is rendered. */
export type Round = { readonly phases: number; readonly periodMs: number }

/** The whole market advances as often in a round: it has no shares. */
const ADVANCES_PER_ROUND = 25
/** A month of history has been read by then. */
const HURRIED_ROUNDS = 5
const HURRIED_PER_ROUND = 5
/** Answers also change as their inputs expire, without an event. In each of these rounds another share of the coins is due. */
const REFRESHED_ROUNDS = 60
/** Each kind has a bit of a signed 32-bit number. */
const KINDS_MAX = 31

/** A coin's place in the schedule: its phase, and the round in which documents with a longer period are due. */
type Slot = {
  readonly coin: string
  readonly phase: number
  readonly round: number
  /** Documents to render again, one bit for each kind. */
  dirty: number
  /** Documents without an answer that were not published because of the grace period after a restore. */
  withheld: number
}

/** A rendering that is due. */
export type Due = { readonly coin: string; readonly kind: CoinDocumentKind }

type Publish<Rendered> = {
  /** Returns null if the coin is not listed any more. */
  readonly render: (due: Due) => { readonly document: Rendered; readonly hasAnswer: boolean } | null
  /** A number that rises with each closed bar of a coin. */
  readonly closedBars: (coin: string, timeframe: Timeframe) => number
}

/** Decides which documents of which coins are rendered in each publish: those whose inputs changed, and once a minute all. */
export class RenderSchedule {
  readonly #kinds: readonly CoinDocumentKind[]
  /** Bits of the kinds that have an event kind as input. */
  readonly #dirtiedBy = new Map<MarketEvent['kind'], number>()
  readonly #allBits: number
  readonly #slotOf = new Map<string, Slot>()
  readonly #slotsIn: readonly Slot[][]
  readonly #phases: number
  readonly #periodMs: number
  /** By kind, the first round in which a coin is due again. A coin is absent until it has an answer. */
  readonly #notBefore: readonly Map<string, number>[]
  /** By kind, the closed bars of a coin when it was last rendered, where a closed bar makes it due. */
  readonly #renderedBars: readonly Map<string, number>[]
  #hasWithheld = false
  #hurriedLeft = 0
  #phase = 0
  #round = 0

  constructor(kinds: readonly CoinDocumentKind[], { phases, periodMs }: Round) {
    assert(kinds.length <= KINDS_MAX, 'each kind of document about a coin has a bit')
    this.#kinds = kinds
    this.#allBits = bitsOf(kinds, () => true)
    this.#phases = phases
    this.#periodMs = periodMs
    this.#slotsIn = Array.from({ length: phases }, () => [])
    this.#notBefore = kinds.map(() => new Map())
    this.#renderedBars = kinds.map(() => new Map())
  }

  /** Adds a coin, of which all documents are due, unless it is known. */
  add(coin: string): void {
    const { size } = this.#slotOf
    if (this.#slotOf.has(coin)) return
    const slot = {
      coin,
      phase: size % this.#phases,
      round: Math.floor(size / this.#phases),
      dirty: this.#allBits,
      withheld: 0,
    }
    this.#slotOf.set(coin, slot)
    this.#slotsIn[slot.phase]?.push(slot)
  }

  markDirty(coin: string, kind: MarketEvent['kind']): void {
    let bits = this.#dirtiedBy.get(kind)
    if (bits === undefined) {
      bits = bitsOf(this.#kinds, ({ inputs }) => inputs.includes(kind))
      this.#dirtiedBy.set(kind, bits)
    }
    const slot = this.#slotOf.get(coin)
    if (slot !== undefined) slot.dirty |= bits
  }

  /**
   * For the first seconds after a restore: every first answer is rendered before its phase. A document with a longer
   * period than that waits: the one of the previous run is not older than usual.
   */
  hurry(): void {
    this.#hurriedLeft = HURRIED_ROUNDS * this.#phases
  }

  /** Whether the next publish advances the whole market. */
  get isAdvanceDue(): boolean {
    return this.#phase % (this.#phases / ADVANCES_PER_ROUND) === 0
  }

  /**
   * Renders what is due in the next phase.
   * @returns the documents to publish
   */
  *next<Rendered>(
    isInGrace: boolean,
    { render, closedBars }: Publish<Rendered>,
  ): Generator<Rendered> {
    const isHurried =
      this.#hurriedLeft > 0 && this.#hurriedLeft % (this.#phases / HURRIED_PER_ROUND) === 0
    this.#hurriedLeft = Math.max(0, this.#hurriedLeft - 1)
    this.#phase = (this.#phase + 1) % this.#phases
    if (this.#phase === 0) this.#beginRound()
    if (!isInGrace) this.#releaseWithheld()
    const slots = isHurried ? [...this.#slotOf.values()] : (this.#slotsIn[this.#phase] ?? [])
    for (const [at, kind] of this.#kinds.entries()) {
      const bit = 1 << at
      const { atCloseOf } = kind
      const [notBefore, renderedBars] = [this.#notBefore[at], this.#renderedBars[at]]
      const canHurry = isHurried && this.#roundsOf(kind) <= HURRIED_ROUNDS
      for (const slot of slots) {
        if ((slot.dirty & bit) === 0) continue
        const { coin } = slot
        const dueRound = notBefore?.get(coin)
        const isItsPhase = slot.phase === this.#phase
        if (!isItsPhase && !(canHurry && dueRound === undefined)) continue
        const bars = atCloseOf === undefined ? undefined : closedBars(coin, atCloseOf)
        if (this.#round < (dueRound ?? 0) && bars === renderedBars?.get(coin)) continue
        const rendered = render({ coin, kind })
        // Without an answer the coin stays due every round, because a missing input may arrive at any time.
        if (rendered?.hasAnswer) {
          notBefore?.set(coin, this.#nextRound(kind, slot.round + at))
          if (bars !== undefined) renderedBars?.set(coin, bars)
        } else if (rendered !== null && isInGrace && dueRound === undefined) {
          if (isItsPhase) {
            slot.dirty &= ~bit
            slot.withheld |= bit
            this.#hasWithheld = true
          }
          continue
        }
        slot.dirty &= ~bit
        if (rendered !== null) yield rendered.document
      }
    }
  }

  #beginRound(): void {
    this.#round += 1
    for (const slot of this.#slotOf.values()) {
      const place = slot.round * this.#phases + slot.phase
      if ((this.#round + place) % REFRESHED_ROUNDS === 0) slot.dirty = this.#allBits
    }
  }

  #releaseWithheld(): void {
    if (!this.#hasWithheld) return
    this.#hasWithheld = false
    for (const slot of this.#slotOf.values()) {
      slot.dirty |= slot.withheld
      slot.withheld = 0
    }
  }

  /** Spreads the coins of a kind with a period of several rounds evenly over these rounds. */
  #nextRound(kind: CoinDocumentKind, shift: number): number {
    const rounds = this.#roundsOf(kind)
    return this.#round + rounds - ((this.#round + shift) % rounds)
  }

  #roundsOf({ periodMs = this.#periodMs }: CoinDocumentKind): number {
    return Math.round(periodMs / this.#periodMs)
  }
}

function bitsOf<T>(all: readonly T[], isMeant: (one: T) => boolean): number {
  return all.reduce((bits, one, at) => (isMeant(one) ? bits | (1 << at) : bits), 0)
}
