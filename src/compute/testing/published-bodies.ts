import type { Document } from '../../domain/document.ts'
import type { Processor } from '../processor.ts'
import { PUBLISH_PHASES } from '../processor.ts'

/**
 * What a processor has to publish, by document key: of the default view of each answer everything that
 * stands before `meta`, whose slots a gateway fills; null where there is no answer.
 */
export function publishedBodies(processor: Processor, nowMs: number): Map<string, unknown> {
  const bodies = new Map<string, unknown>()
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(nowMs)) bodies.set(document.key, bodyOf(document))
  return bodies
}

function bodyOf(document: Document): unknown {
  const answer = document.views['']
  if (answer?.kind !== 'answer') return null
  const text = new TextDecoder().decode(document.bytes)
  return JSON.parse(`${text.slice(0, text.indexOf(',"meta"'))}}`)
}
