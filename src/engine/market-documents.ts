import type { Logger } from 'pino'
import { documentKinds } from '../compute/analyses/registry.ts'
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

/** Interval at which a document without an answer is rendered again. */
const UNANSWERED_PERIOD_MS = 1_000
/** The same within the grace period after a restore, in which no missing answer is published. */
const RESTORING_PERIOD_MS = 250

/**
 * Schedules the documents about the whole market: each is gathered once per period, rendered by the renderer, and
 * published when it is back. A document that is still being rendered is not gathered again.
 */
export class MarketDocuments {
  readonly #options: Options
  readonly #dueMs = new Map<string, number>()
  readonly #rendering = new Set<string>()
  readonly #answered = new Set<string>()
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Called much more often than the shortest period. Begins at most one document, the most overdue one, because gathering
   * blocks the engine and all are due at the start.
   */
  tick(): void {
    const nowMs = this.#options.nowMs()
    const [due] = documentKinds.market
      .filter(({ contract }) => !this.#rendering.has(contract.id))
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

  /** Negative if not due yet. */
  #overdueMs(id: string, nowMs: number, periodMs: number): number {
    const dueMs = this.#dueMs.get(id) ?? nowMs
    this.#dueMs.set(id, dueMs)
    // Further ahead than a period: the clock was set back.
    return dueMs - nowMs > periodMs ? Number.POSITIVE_INFINITY : nowMs - dueMs
  }

  #begin(id: string, nowMs: number, periodMs: number): void {
    const { processor, renderer, recorder, log } = this.#options
    this.#dueMs.set(id, nowMs + periodMs)
    this.#rendering.add(id)
    recorder?.gathered(id, nowMs)
    renderer.render(
      processor.gather(id, nowMs),
      (document) => this.#done(id, document),
      (cause) => {
        this.#rendering.delete(id)
        if (!this.#isStopped) log.error({ err: cause, analysis: id }, 'not rendered; tried again')
      },
    )
  }

  #done(id: string, document: Document): void {
    this.#rendering.delete(id)
    if (this.#isStopped) return
    const { processor, recorder, nowMs, publish } = this.#options
    const doneMs = nowMs()
    if (hasAnswer(document)) this.#answered.add(id)
    else {
      const isWithheld = processor.restoreGrace.isActive(doneMs) && !this.#answered.has(id)
      this.#dueMs.set(id, doneMs + (isWithheld ? RESTORING_PERIOD_MS : UNANSWERED_PERIOD_MS))
      if (isWithheld) return
    }
    recorder?.rendered(id, document, doneMs)
    publish(document)
  }
}
