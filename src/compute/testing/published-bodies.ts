import type { Document, Part } from '../../domain/document.ts'
import type { Processor } from '../processor.ts'
import { PUBLISH_PHASES } from '../processor.ts'

/**
 * What a processor has to publish, by document key, and behind a `?` by view where that has a name: of each
 * answer everything that stands before `meta`, whose slots a gateway fills; null where there is none.
 */
export function publishedBodies(processor: Processor, nowMs: number): Map<string, unknown> {
  const bodies = new Map<string, unknown>()
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(nowMs))
      for (const view of Object.keys(document.views))
        bodies.set(`${document.key}${view && `?${view}`}`, bodyOf(document, view))
  return bodies
}

function bodyOf({ bytes, parts, views }: Document, view: string): unknown {
  const answer = views[view]
  if (answer?.kind !== 'answer') return null
  const textOf = (part: Part | undefined): string => {
    if (part?.kind === 'text') return new TextDecoder().decode(bytes.subarray(part.start, part.end))
    return part?.kind === 'run' ? parts.slice(part.from, part.to).map(textOf).join('') : ''
  }
  const text = answer.parts.map((part) => textOf(parts[part])).join('')
  return JSON.parse(`${text.slice(0, text.indexOf(',"meta"'))}}`)
}
