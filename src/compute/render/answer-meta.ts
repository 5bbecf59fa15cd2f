import type { Input } from '../../domain/document.ts'
import { nextUpdateMs } from '../../domain/document.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { Rendering } from '../analysis.ts'
import { PROVIDER } from './answer-schema.ts'
import type { DocumentBuilder } from './document-builder.ts'

/** Stands in `answer_id` where a view puts its own key: all else of `meta` is the same in every view. */
export const VIEW_MARK = '{view}'

/** The `meta` object of one view, as a value for the builder. */
export function answerMeta(
  builder: DocumentBuilder,
  facts: {
    readonly offering: string
    readonly rendering: Rendering
    readonly view: string
    readonly inputs: readonly Input[]
    readonly sources: readonly string[]
    /** Of an answer that holds others, which name their inputs themselves: an instant for each of them. */
    readonly asOf?: Readonly<Record<string, string>>
    /** Where a schedule of its own says when the next answer is due. */
    readonly nextUpdateMs?: number
    /** Members that this analysis adds. */
    readonly more?: Readonly<Record<string, unknown>>
  },
): Record<string, unknown> {
  const { rendering, inputs } = facts
  return {
    provider: PROVIDER,
    offering: facts.offering,
    execution_ms: builder.slot({ kind: 'execution-ms' }),
    ...facts.more,
    ...builder.memberSlot({ kind: 'freshness' }),
    as_of: facts.asOf ?? asOf(inputs),
    sources: facts.sources,
    answer_id: answerIdOf(facts),
    snapshot_id: rendering.snapshotId,
    engine_version: rendering.engineVersion,
    valid_until_iso: isoInstant(facts.nextUpdateMs ?? nextUpdateMs(inputs, rendering.renderedAtMs)),
  }
}

function asOf(inputs: readonly Input[]): Readonly<Record<string, string>> {
  const shown: Record<string, string> = {}
  for (const { name, confirmedAtMs } of inputs) shown[name] = isoInstant(confirmedAtMs)
  return shown
}

/** Answers of one rendering, as in a bundle, differ by their product; those of one product by their view. */
function answerIdOf({
  rendering,
  offering,
  view,
}: {
  readonly rendering: Rendering
  readonly offering: string
  readonly view: string
}): string {
  const product = offering.replace('service_', '')
  return `ans_${rendering.version.toString(36)}_${product}${view && `_${view.replaceAll(',', '_')}`}`
}
