import type { Logger } from 'pino'
import { analyses } from '../compute/analyses/registry.ts'
import type { Processor } from '../compute/processor.ts'
import type { Document } from '../domain/document.ts'
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

/**
 * Sees to it that every analysis of the whole market is made anew once a period: gathered here, rendered by
 * a worker, published when it comes back. One that is still being made is not begun again.
 */
export class MarketDocuments {
  readonly #options: Options
  readonly #begunMs = new Map<string, number>()
  readonly #underway = new Set<string>()
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Called more often than the shortest period. */
  tick(): void {
    const nowMs = this.#options.nowMs()
    for (const { contract, periodMs } of analyses.market) {
      const { id } = contract
      const begunMs = this.#begunMs.get(id) ?? Number.NEGATIVE_INFINITY
      // Either way: a clock may have been set back.
      const isDue = Math.abs(nowMs - begunMs) >= periodMs
      if (isDue && !this.#underway.has(id)) this.#begin(id, nowMs)
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  #begin(id: string, nowMs: number): void {
    const { processor, renderer, recorder, log } = this.#options
    this.#begunMs.set(id, nowMs)
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
    const { recorder, nowMs, publish } = this.#options
    recorder?.rendered(id, document, nowMs())
    publish(document)
  }
}
