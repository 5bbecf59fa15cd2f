import { createHash } from 'node:crypto'
import type { FaultKind } from './fault-script.ts'
import { faultKinds } from './fault-script.ts'
import type { Excused, Held, Violation } from './findings.ts'
import { kindOf, NOTHING_HELD } from './findings.ts'
import type { Outcome } from './outcome.ts'

const DETAIL_LENGTH_MAX = 500
const FAULTS_NAMED_MAX = 6

/** Summary of many seeds. */
export class Report {
  readonly #command: (seed: number) => string
  readonly #faults = new Map<FaultKind, number>()
  readonly #violations = new Map<string, { count: number; seeds: number[]; first: Violation }>()
  readonly #excused = new Map<string, Excused>()
  readonly #peaks = new Map<string, number>()
  readonly #held = new Map<string, Held>()
  readonly #refused = new Map<string, number>()
  readonly #digests = new Map<number, string>()
  #seeds = 0
  #failed = 0
  #answers = 0
  #virtualMs = 0
  #runMs = 0
  #healedMs = 0
  #warmUpMs = 0

  /** @param command returns the command that repeats a seed */
  constructor(command: (seed: number) => string) {
    this.#command = command
  }

  get failed(): number {
    return this.#failed
  }

  get seeds(): number {
    return this.#seeds
  }

  add({ result, runMs }: Outcome): void {
    this.#seeds += 1
    if (result.violations.length > 0) this.#failed += 1
    this.#answers += result.answers
    this.#digests.set(result.seed, result.digest)
    this.#virtualMs += result.virtualMs
    this.#runMs += runMs
    this.#healedMs = Math.max(this.#healedMs, result.healedMs ?? 0)
    this.#warmUpMs = Math.max(this.#warmUpMs, result.warmUpMs)
    for (const kind of faultKinds)
      this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + (result.faults[kind] ?? 0))
    for (const [name, peak] of Object.entries(result.peaks))
      this.#peaks.set(name, Math.max(this.#peaks.get(name) ?? 0, peak))
    for (const [kind, { count, longestMs }] of Object.entries(result.excused)) {
      const known = this.#excused.get(kind)
      this.#excused.set(kind, {
        count: (known?.count ?? 0) + count,
        longestMs: Math.max(known?.longestMs ?? 0, longestMs),
      })
    }
    for (const [subject, held] of Object.entries(result.held)) {
      const known = this.#held.get(subject) ?? NOTHING_HELD
      this.#held.set(subject, {
        right: known.right + held.right,
        wrong: known.wrong + held.wrong,
        unknown: known.unknown + held.unknown,
      })
    }
    for (const [reason, count] of Object.entries(result.refusals))
      this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + count)
    for (const first of result.violations) {
      const kind = kindOf(first)
      const known = this.#violations.get(kind)
      if (known === undefined)
        this.#violations.set(kind, {
          count: result.counts[kind] ?? 1,
          seeds: [result.seed],
          first,
        })
      else if (known.seeds.at(-1) !== result.seed) {
        known.count += result.counts[kind] ?? 1
        known.seeds.push(result.seed)
      }
    }
  }

  lines(): readonly string[] {
    return [
      `${this.#seeds} seeds, ${this.#failed} with violations; ${hours(this.#virtualMs)} h of virtual time ` +
        `in ${seconds(this.#runMs)} s of one core, ${(this.#virtualMs / this.#runMs).toFixed(0)} times as fast; ` +
        `${this.#answers} answers checked`,
      `warm after ${seconds(this.#warmUpMs)} s at most, well again ${seconds(this.#healedMs)} s after the last fault at most`,
      '',
      'faults by kind',
      ...[...this.#faults].map(([kind, count]) => `${String(count).padStart(8)}  ${kind}`),
      '',
      'most used',
      ...[...this.#peaks].map(([name, peak]) => `${String(peak).padStart(8)}  ${name}`),
      '',
      'refused instead of answered',
      ...[...this.#refused].map(([reason, count]) => `${String(count).padStart(8)}  ${reason}`),
      '',
      'held against the truth: right, wrong or too young, older than what is remembered',
      ...[...this.#held].map(
        ([subject, { right, wrong, unknown }]) =>
          `${[right, wrong, unknown].map((count) => String(count).padStart(8)).join('')}  ${subject}`,
      ),
      '',
      'wrong or too young, but promised no better',
      ...[...this.#excused]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(
          ([kind, { count, longestMs }]) =>
            `${String(count).padStart(8)}  ${kind}, ${seconds(longestMs)} s at most`,
        ),
      '',
      `checksum of all that was said ${this.#checksum()}`,
      '',
      this.#violations.size === 0 ? 'no violations' : 'violations',
      ...[...this.#violations]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .flatMap(([kind, { count, seeds, first }]) => [
          `${String(count).padStart(8)}  ${kind} (${seeds.length} seeds: ${seeds.slice(0, 8).join(' ')})`,
          `          ${this.#command(seeds[0] ?? 0)}`,
          ...violationLines(first).map((line) => `          ${line}`),
        ]),
    ]
  }

  /** Checksum of all outputs, independent of the order of the workers. */
  #checksum(): string {
    const hash = createHash('sha1')
    for (const [seed, digest] of [...this.#digests].toSorted(([one], [other]) => one - other))
      hash.update(`${seed} ${digest} `)
    return hash.digest('hex')
  }
}

/** Details of a violation: time, coin, actual and expected value, active faults. */
export function violationLines({ atMs, coin, detail, during }: Violation): readonly string[] {
  const faults = during.slice(0, FAULTS_NAMED_MAX).join(' ')
  return [
    `at ${new Date(atMs).toISOString()}${coin === null ? '' : `, ${coin}`}` +
      `${during.length === 0 ? '' : `, near ${faults}${during.length > FAULTS_NAMED_MAX ? ' …' : ''}`}`,
    ...detail.slice(0, DETAIL_LENGTH_MAX).split('\n'),
  ]
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function hours(ms: number): string {
  return (ms / 3_600_000).toFixed(1)
}
