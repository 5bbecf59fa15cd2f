import assert from 'node:assert/strict'
import type { MarketEvent } from '../domain/event.ts'
import type { CoinAnalysis } from './analysis.ts'

/** A round is one period; in each of its phases another share of the coins is rendered. */
export type Round = { readonly phases: number; readonly periodMs: number }

/** The whole market advances as often in a round: it has no shares. */
const ADVANCES_PER_ROUND = 25
/** A month of history has been read by then. */
const HURRIED_ROUNDS = 5
const HURRIED_PER_ROUND = 5
/** Each analysis has a bit of a signed 32-bit number. */
const ANALYSES_MAX = 31

/** A coin's place in the schedule: its phase, and the round in which analyses with a longer period are due. */
type Slot = {
  readonly coin: string
  readonly phase: number
  readonly round: number
  /** Analyses to render again, one bit each. */
  dirty: number
  /** Analyses without an answer that were not published because of the grace period after a restore. */
  withheld: number
}

/** A rendering that is due. */
export type Due = { readonly coin: string; readonly analysis: CoinAnalysis }

/** Decides which coins are rendered for which analyses in each publish. */
export class RenderSchedule {
  readonly #analyses: readonly CoinAnalysis[]
  /** Bits of the analyses that have an event kind as input. */
  readonly #dirtiedBy = new Map<MarketEvent['kind'], number>()
  readonly #slotOf = new Map<string, Slot>()
  readonly #slotsIn: readonly Slot[][]
  readonly #phases: number
  readonly #periodMs: number
  /** By analysis, the first round in which a coin is due again. A coin is absent until it has an answer. */
  readonly #notBefore: readonly Map<string, number>[]
  #hasWithheld = false
  #hurriedLeft = 0
  #phase = 0
  #round = 0

  constructor(analyses: readonly CoinAnalysis[], { phases, periodMs }: Round) {
    assert(analyses.length <= ANALYSES_MAX, 'each analysis of a coin has a bit')
    this.#analyses = analyses
    this.#phases = phases
    this.#periodMs = periodMs
    this.#slotsIn = Array.from({ length: phases }, () => [])
    this.#notBefore = analyses.map(() => new Map())
  }

  /** Adds a coin, due for all analyses, unless it is known. */
  add(coin: string): void {
    const { size } = this.#slotOf
    if (this.#slotOf.has(coin)) return
    const slot = {
      coin,
      phase: size % this.#phases,
      round: Math.floor(size / this.#phases),
      dirty: bitsOf(this.#analyses, () => true),
      withheld: 0,
    }
    this.#slotOf.set(coin, slot)
    this.#slotsIn[slot.phase]?.push(slot)
  }

  markDirty(coin: string, kind: MarketEvent['kind']): void {
    let bits = this.#dirtiedBy.get(kind)
    if (bits === undefined) {
      bits = bitsOf(this.#analyses, ({ inputs }) => inputs.includes(kind))
      this.#dirtiedBy.set(kind, bits)
    }
    const slot = this.#slotOf.get(coin)
    if (slot !== undefined) slot.dirty |= bits
  }

  /** For the first seconds after a restore: every first answer is rendered before its phase. */
  hurry(): void {
    this.#hurriedLeft = HURRIED_ROUNDS * this.#phases
  }

  /** Whether the next publish advances the whole market. */
  get isAdvanceDue(): boolean {
    return this.#phase % (this.#phases / ADVANCES_PER_ROUND) === 0
  }

  /**
   * Renders what is due in the next phase.
   * @param render returns null if the coin is not listed any more
   * @returns the documents to publish
   */
  *next<Rendered>(
    isInGrace: boolean,
    render: (due: Due) => { readonly document: Rendered; readonly hasAnswer: boolean } | null,
  ): Generator<Rendered> {
    const isHurried =
      this.#hurriedLeft > 0 && this.#hurriedLeft % (this.#phases / HURRIED_PER_ROUND) === 0
    this.#hurriedLeft = Math.max(0, this.#hurriedLeft - 1)
    this.#phase = (this.#phase + 1) % this.#phases
    if (this.#phase === 0) this.#round += 1
    if (!isInGrace) this.#releaseWithheld()
    const slots = isHurried ? [...this.#slotOf.values()] : (this.#slotsIn[this.#phase] ?? [])
    for (const [at, analysis] of this.#analyses.entries()) {
      const bit = 1 << at
      const notBefore = this.#notBefore[at]
      for (const slot of slots) {
        if ((slot.dirty & bit) === 0) continue
        const { coin } = slot
        const dueRound = notBefore?.get(coin)
        const isItsPhase = slot.phase === this.#phase
        if (!isItsPhase && !(isHurried && dueRound === undefined)) continue
        if (this.#round < (dueRound ?? 0)) continue
        const rendered = render({ coin, analysis })
        // Without an answer the coin stays due every round, because a missing input may arrive at any time.
        if (rendered?.hasAnswer) notBefore?.set(coin, this.#nextRound(analysis, slot.round + at))
        else if (rendered !== null && isInGrace && dueRound === undefined) {
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

  #releaseWithheld(): void {
    if (!this.#hasWithheld) return
    this.#hasWithheld = false
    for (const slot of this.#slotOf.values()) {
      slot.dirty |= slot.withheld
      slot.withheld = 0
    }
  }

  /** Spreads the coins of an analysis with a period of several rounds evenly over these rounds. */
  #nextRound({ periodMs = this.#periodMs }: CoinAnalysis, shift: number): number {
    const rounds = Math.round(periodMs / this.#periodMs)
    return this.#round + rounds - ((this.#round + shift) % rounds)
  }
}

function bitsOf<T>(all: readonly T[], isMeant: (one: T) => boolean): number {
  return all.reduce((bits, one, at) => (isMeant(one) ? bits | (1 << at) : bits), 0)
}
