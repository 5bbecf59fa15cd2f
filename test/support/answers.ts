import { fillDocument } from '../../src/api/fill-document.ts'
import { analyses } from '../../src/compute/analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../../src/compute/processor.ts'
import type { Document } from '../../src/domain/document.ts'
import { documentKey, viewOf, WHOLE_MARKET } from '../../src/domain/document.ts'
import type { Batch } from '../../src/domain/event.ts'

/** JSON of any shape; tests read the members that they expect. */
// biome-ignore lint/suspicious/noExplicitAny: other tests check the published schema
export type Json = any

/** An engine with every analysis; returns the answers of the default views. */
export class AnsweringEngine {
  readonly processor = new Processor(analyses, '1.2.3')
  readonly #documents = new Map<string, Document>()

  hear(batches: Iterable<Batch>): this {
    for (const batch of batches) this.processor.process(batch)
    return this
  }

  /** Answers by analysis; undefined where there is no answer. */
  answers(coin: string, nowMs: number): ReadonlyMap<string, Json> {
    this.#publish(nowMs)
    const answers = new Map<string, Json>()
    for (const { contract } of [...analyses.coin, ...analyses.market]) {
      const subject = contract.scope === 'coin' ? coin : WHOLE_MARKET
      const document = this.#documents.get(documentKey(contract.id, subject))
      const view = document && viewOf(document, contract.defaultView)
      if (document === undefined || view?.kind !== 'answer') continue
      const facts = { nowMs, executionMs: 0.1, coinsAvailable: 1 }
      answers.set(contract.id, JSON.parse(fillDocument(document, view, facts).toString('utf8')))
    }
    return answers
  }

  documents(nowMs: number): readonly Document[] {
    this.#publish(nowMs)
    return [...this.#documents.values()]
  }

  #publish(nowMs: number): void {
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
      for (const document of this.processor.publish(nowMs))
        this.#documents.set(document.key, document)
    for (const analysis of analyses.market) {
      const { gathered, rendering } = this.processor.gather(analysis.contract.id, nowMs)
      const document = analysis.render(gathered, rendering)
      this.#documents.set(document.key, document)
    }
  }
}
