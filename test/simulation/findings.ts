import type { FaultKind } from './fault-script.ts'

const checkers = [
  'link',
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

/** A violated promise, with the data for its analysis. */
export type Violation = {
  readonly checker: Checker
  readonly atMs: number
  readonly coin: string | null
  readonly what: string
  readonly detail: string
  /** Kinds of faults active at that time. */
  readonly during: readonly FaultKind[]
}

/** Errors that no promise excludes; counted, because fewer are better. */
export type Excused = { readonly count: number; readonly longestMs: number }

/** Right and as old as stated; wrong or too young, excused or not; or unknown. */
export type Judgement = 'right' | 'wrong' | 'unknown'

/** Counts of one subject. */
export type Held = Readonly<Record<Judgement, number>>

export const NOTHING_HELD: Held = { right: 0, wrong: 0, unknown: 0 }

/** Violations of one kind kept in full; more are only counted. */
const KEPT_PER_KIND = 3

/** Findings of the checkers of one run. */
export class Findings {
  /** The first `KEPT_PER_KIND` of every kind. */
  readonly violations: Violation[] = []
  /** All of them, by `checker: what`. */
  readonly counts: Record<string, number> = {}
  readonly excused: Record<string, Excused> = {}
  /** Number of figures compared with the truth, by subject. */
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

  /** @param ms duration or size of the error */
  excuse(kind: string, ms: number): void {
    const { count, longestMs } = this.excused[kind] ?? { count: 0, longestMs: 0 }
    this.excused[kind] = { count: count + 1, longestMs: Math.max(longestMs, ms) }
  }
}

export function kindOf({ checker, what }: Violation): string {
  return `${checker}: ${what}`
}
