import type { Document, Part } from '../../domain/document.ts'
import { rangeOf, viewOf, viewsOf } from '../../domain/document.ts'
import { bytesOf } from '../../domain/document-bytes.ts'
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
      for (const view of Object.keys(viewsOf(document)))
        bodies.set(`${document.key}${view && `?${view}`}`, bodyOf(document, view))
  return bodies
}

function bodyOf(document: Document, view: string): unknown {
  const { parts } = document
  const bytes = bytesOf(document)
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') return null
  const decoded = (start: number, end: number) =>
    new TextDecoder().decode(bytes.subarray(start, end))
  const textOf = (part: Part | undefined): string => {
    if (part?.kind === 'text') return decoded(part.start, part.end)
    if (part?.kind === 'choice') return decoded(...rangeOf(part, answer))
    return part?.kind === 'run' ? parts.slice(part.from, part.to).map(textOf).join('') : ''
  }
  const text = answer.parts.map((part) => textOf(parts[part])).join('')
  return JSON.parse(`${text.slice(0, text.indexOf(',"meta"'))}}`)
}
