import type { Input } from '../../domain/document.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { Rendering } from '../analysis.ts'
import { PROVIDER } from './answer-schema.ts'
import type { DocumentBuilder } from './document-builder.ts'

/** The `meta` object of one view, as a value for the builder. */
export function answerMeta(
  builder: DocumentBuilder,
  facts: {
    readonly offering: string
    readonly rendering: Rendering
    readonly view: string
    readonly inputs: readonly Input[]
    readonly sources: readonly string[]
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
    as_of: Object.fromEntries(inputs.map((input) => [input.name, isoInstant(input.confirmedAtMs)])),
    sources: facts.sources,
    answer_id: `ans_${rendering.version.toString(36)}${facts.view && `_${facts.view.replaceAll(',', '_')}`}`,
    snapshot_id: rendering.snapshotId,
    engine_version: rendering.engineVersion,
  }
}
