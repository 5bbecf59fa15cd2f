import type { FaultKind } from './fault-script.ts'

const checkers = [
  'determinism',
  'restored',
  'replica',
  'sanity',
  'numbers',
  'ages',
  'health',
  'limits',
  'bounds',
  'crash',
] as const

type Checker = (typeof checkers)[number]

/** A broken promise, with all that is needed to look into it. */
export type Violation = {
  readonly checker: Checker
  readonly atMs: number
  readonly coin: string | null
  readonly what: string
  readonly detail: string
  /** Kinds of faults that were at work. */
  readonly during: readonly FaultKind[]
}

/** Something wrong that nothing promised against; counted, because less of it is better. */
export type Excused = { readonly count: number; readonly longestMs: number }

/** What a figure turned out to be: right and as old as it says; wrong or too young, with an excuse or without; or not to be known. */
export type Judgement = 'right' | 'wrong' | 'unknown'

/** Of one subject. */
export type Held = Readonly<Record<Judgement, number>>

export const NOTHING_HELD: Held = { right: 0, wrong: 0, unknown: 0 }

/** Of one kind of violation so many are kept whole; the others are only counted. */
const KEPT_PER_KIND = 3

/** What the checkers of one run found. */
export class Findings {
  /** The first few of every kind. */
  readonly violations: Violation[] = []
  /** All of them, by `checker: what`. */
  readonly counts: Record<string, number> = {}
  readonly excused: Record<string, Excused> = {}
  /** How many figures were held against the truth, by subject. */
  readonly held: Record<string, Held> = {}
  readonly #onViolation: (violation: Violation) => void

  constructor(onViolation: (violation: Violation) => void) {
    this.#onViolation = onViolation
  }

  violation(violation: Violation): void {
    const kind = kindOf(violation)
    const count = (this.counts[kind] ?? 0) + 1
    this.counts[kind] = count
    if (count > KEPT_PER_KIND) return
    this.violations.push(violation)
    this.#onViolation(violation)
  }

  judged(subject: string, judgement: Judgement): void {
    const held = this.held[subject] ?? NOTHING_HELD
    this.held[subject] = { ...held, [judgement]: held[judgement] + 1 }
  }

  /** @param ms how long it has been so, or by how much it is wrong */
  excuse(kind: string, ms: number): void {
    const { count, longestMs } = this.excused[kind] ?? { count: 0, longestMs: 0 }
    this.excused[kind] = { count: count + 1, longestMs: Math.max(longestMs, ms) }
  }
}

export function kindOf({ checker, what }: Violation): string {
  return `${checker}: ${what}`
}
