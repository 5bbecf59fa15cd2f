import type { ResolvedClaim } from '../../domain/track-record.ts'
import type { Block } from './blocks.ts'
import { blockField, DAY_MS, fieldOf, newBlock } from './blocks.ts'
import { scoreOf } from './claim-score.ts'
import type { Form } from './figures.ts'
import { constantLoss } from './figures.ts'
import { rankCorrelation } from './rank-correlation.ts'

/** Advantage of a day over the control, each between -1 and 1; NaN where the day shows none. */
export type Advantage = { readonly lift: number; readonly skill: number }

/** Rank claims of one day; further ones are counted as void. */
const RANKS_MAX = 4_096
/** A rank correlation of fewer says nothing. */
const RANKS_MIN = 5

/** The claims of one day while some of them are open. */
export class OpenDay {
  /** All claims that were made on the day. */
  readonly all: Block
  /** Those that were resolved on it as well, so that no claim of the next day overlaps them. */
  readonly within: Block
  readonly #ranks: { score: number; control: number; value: number; isWithin: boolean }[] = []

  constructor(day: number) {
    this.all = newBlock(day)
    this.within = newBlock(day)
  }

  get day(): number {
    return fieldOf(this.all, 'day')
  }

  abstain(): void {
    add(this.all, 'abstained', 1)
  }

  add(claim: ResolvedClaim): void {
    const { statement, outcome } = claim
    const isWithin = Math.floor(claim.resolvedAtMs / DAY_MS) === this.day
    const score = scoreOf(claim)
    if (score !== null) {
      for (const block of isWithin ? [this.all, this.within] : [this.all]) {
        add(block, 'observed', 1)
        add(block, 'weight', 1)
        add(block, 'own', score.own)
        add(block, 'control', score.control)
        add(block, 'loss', score.loss)
        add(block, 'controlLoss', score.controlLoss)
        add(block, 'inside50', score.inside[0] === true ? 1 : 0)
        add(block, 'inside80', score.inside[1] === true ? 1 : 0)
        add(block, 'inside95', score.inside[2] === true ? 1 : 0)
      }
    } else if (
      statement.form === 'rank' &&
      outcome.kind === 'value' &&
      this.#ranks.length < RANKS_MAX
    ) {
      add(this.all, 'observed', 1)
      const { score, control } = statement
      this.#ranks.push({ score, control, value: outcome.value, isWithin })
    } else add(this.all, 'voids', 1)
  }

  /** Ranks the claims; called once, when the day closes. */
  close(): void {
    this.#correlate(this.all, this.#ranks)
    this.#correlate(
      this.within,
      this.#ranks.filter(({ isWithin }) => isWithin),
    )
  }

  /** @param controlRate of the days before, which the control states where it is an event of its own */
  advantage(form: Form, isWithin: boolean, controlRate: number): Advantage {
    const block = isWithin ? this.within : this.all
    const [weight, own, control] = [
      fieldOf(block, 'weight'),
      fieldOf(block, 'own'),
      fieldOf(block, 'control'),
    ]
    if (form === 'rank') {
      const ahead = (own - control) / weight / 2
      return { lift: ahead, skill: ahead }
    }
    if (form === 'quantiles') {
      const ahead = own + control === 0 ? 0 : (control - own) / (control + own)
      return weight === 0 ? { lift: Number.NaN, skill: Number.NaN } : { lift: ahead, skill: ahead }
    }
    const stated = fieldOf(block, 'controlLoss')
    const controlLoss = Number.isNaN(stated) ? constantLoss(controlRate, own, weight) : stated
    return {
      lift: (own - control) / weight,
      skill: (controlLoss - fieldOf(block, 'loss')) / weight,
    }
  }

  save(): readonly (readonly number[])[] {
    return [
      [...this.all],
      [...this.within],
      this.#ranks.flatMap(({ score, control, value, isWithin }) => [
        ...[score, control, value],
        isWithin ? 1 : 0,
      ]),
    ]
  }

  static restore([all, within, ranks]: readonly Float64Array[]): OpenDay {
    const day = new OpenDay(0)
    day.all.set(all ?? [])
    day.within.set(within ?? [])
    for (let at = 0; ranks !== undefined && at < ranks.length; at += 4) {
      const [score = 0, control = 0, value = 0, isWithin] = ranks.subarray(at, at + 4)
      day.#ranks.push({ score, control, value, isWithin: isWithin === 1 })
    }
    return day
  }

  #correlate(
    block: Block,
    ranks: readonly { readonly score: number; readonly control: number; readonly value: number }[],
  ): void {
    if (ranks.length < RANKS_MIN) return
    const values = ranks.map(({ value }) => value)
    const correlationOf = (scores: readonly number[]) => rankCorrelation(scores, values) || 0
    add(block, 'weight', ranks.length)
    add(block, 'own', ranks.length * correlationOf(ranks.map(({ score }) => score)))
    add(block, 'control', ranks.length * correlationOf(ranks.map(({ control }) => control)))
  }
}

function add(block: Block, field: keyof typeof blockField, amount: number): void {
  block[blockField[field]] = fieldOf(block, field) + amount
}
