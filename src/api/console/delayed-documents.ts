import type { Clock } from '../../domain/clock.ts'
import type { Refusal } from '../send-problem.ts'
import { refusal } from '../send-problem.ts'
import type { LiveDocument, LiveSource, LiveVersion } from './live-source.ts'

/** The answers that are for sale are newer by then. */
export const SAMPLE_DELAY_MS = 60_000
const CAPTURE_PERIOD_MS = 5_000

/** Names of the documents that a visitor sees without paying. */
export type ShownNames = {
  /** A minute late, because newer versions are for sale. */
  readonly delayed: readonly string[]
  /** As they are now, because everyone may read them. */
  readonly free: readonly string[]
}

/** What a visitor sees without paying: the documents of one coin as they were a minute ago, and the free ones. */
export class DelayedDocuments implements LiveSource {
  readonly #source: LiveSource
  readonly #names: ShownNames
  readonly #clock: Clock
  /** By name, in the order of time; the first is the one that is shown. */
  readonly #captured = new Map<string, LiveVersion[]>()

  constructor(source: LiveSource, names: ShownNames, clock: Clock) {
    this.#source = source
    this.#names = names
    this.#clock = clock
  }

  /** @returns a function that stops it */
  start(): () => void {
    return this.#clock.every(CAPTURE_PERIOD_MS, () => this.#capture())
  }

  open(name: string): LiveDocument | Refusal {
    const { delayed, free } = this.#names
    if (free.includes(name)) return this.#source.open(name)
    if (!delayed.includes(name))
      return refusal('not_found', {
        detail: 'This document is not shown for free.',
        param: 'document',
        allowed: [...delayed, ...free],
      })
    return { kind: 'document', newest: () => this.#shown(name) }
  }

  #shown(name: string): LiveVersion | null {
    const untilMs = this.#clock.nowMs() - SAMPLE_DELAY_MS
    return this.#captured.get(name)?.findLast(({ atMs }) => atMs <= untilMs) ?? null
  }

  #capture(): void {
    const untilMs = this.#clock.nowMs() - SAMPLE_DELAY_MS
    for (const name of this.#names.delayed) {
      const opened = this.#source.open(name)
      const newest = opened.kind === 'document' ? opened.newest() : null
      const kept = this.#captured.get(name) ?? []
      if (newest !== null) {
        // Each read of the body makes its text, whose ages are those of this instant.
        const { version, atMs, body } = newest
        if ('answer' in body) kept.push({ version, atMs, body })
      }
      const shown = kept.findLastIndex(({ atMs }) => atMs <= untilMs)
      this.#captured.set(name, kept.slice(Math.max(0, shown)))
    }
  }
}
