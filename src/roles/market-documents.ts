import type { Logger } from 'pino'
import { analyses } from '../compute/analyses/registry.ts'
import type { Processor } from '../compute/processor.ts'
import type { Document } from '../domain/document.ts'
import { hasAnswer } from '../domain/document.ts'
import type { MarketRenderer } from './market-renderer.ts'
import type { Recorder } from './recording.ts'

type Options = {
  readonly processor: Processor
  readonly renderer: MarketRenderer
  readonly recorder: Recorder | undefined
  readonly nowMs: () => number
  readonly publish: (document: Document) => void
  readonly log: Logger
}

const UNANSWERED_PERIOD_MS = 1_000
const REMEMBERING_PERIOD_MS = 250

/**
 * Sees to it that every analysis of the whole market is made anew once a period: gathered here, rendered by
 * a worker, published when it comes back. One that is still being made is not begun again.
 */
export class MarketDocuments {
  readonly #options: Options
  readonly #dueMs = new Map<string, number>()
  readonly #underway = new Set<string>()
  readonly #answered = new Set<string>()
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Called much more often than the shortest period. Begins one document at most, the one that is most overdue: all
   * of them are due at the start, and many again at the same time, and to gather each holds the engine for a while.
   */
  tick(): void {
    const nowMs = this.#options.nowMs()
    const [due] = analyses.market
      .filter(({ contract }) => !this.#underway.has(contract.id))
      .map(({ contract: { id }, periodMs }) => ({
        id,
        periodMs,
        overdueMs: this.#overdueMs(id, nowMs, periodMs),
      }))
      .filter(({ overdueMs }) => overdueMs >= 0)
      .sort((one, other) => other.overdueMs - one.overdueMs)
    if (due !== undefined) this.#begin(due.id, nowMs, due.periodMs)
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Below zero: not due yet. */
  #overdueMs(id: string, nowMs: number, periodMs: number): number {
    const dueMs = this.#dueMs.get(id) ?? nowMs
    this.#dueMs.set(id, dueMs)
    // Too far ahead: the clock was set back.
    return dueMs - nowMs > periodMs ? Number.POSITIVE_INFINITY : nowMs - dueMs
  }

  #begin(id: string, nowMs: number, periodMs: number): void {
    const { processor, renderer, recorder, log } = this.#options
    this.#dueMs.set(id, nowMs + periodMs)
    this.#underway.add(id)
    recorder?.gathered(id, nowMs)
    renderer.render(
      processor.gather(id, nowMs),
      (document) => this.#done(id, document),
      (cause) => {
        this.#underway.delete(id)
        if (!this.#isStopped) log.error({ err: cause, analysis: id }, 'not rendered; tried again')
      },
    )
  }

  #done(id: string, document: Document): void {
    this.#underway.delete(id)
    if (this.#isStopped) return
    const { processor, recorder, nowMs, publish } = this.#options
    const doneMs = nowMs()
    if (hasAnswer(document)) this.#answered.add(id)
    else {
      const isRemembering = processor.isRemembering(doneMs) && !this.#answered.has(id)
      this.#dueMs.set(id, doneMs + (isRemembering ? REMEMBERING_PERIOD_MS : UNANSWERED_PERIOD_MS))
      if (isRemembering) return
    }
    recorder?.rendered(id, document, doneMs)
    publish(document)
  }
}
