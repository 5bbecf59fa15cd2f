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
    as_of: Object.fromEntries(inputs.map((input) => [input.name, isoInstant(input.confirmedAtMs)])),
    sources: facts.sources,
    answer_id: `ans_${rendering.version.toString(36)}${facts.view && `_${facts.view.replaceAll(',', '_')}`}`,
    snapshot_id: rendering.snapshotId,
    engine_version: rendering.engineVersion,
    valid_until_iso: isoInstant(facts.nextUpdateMs ?? nextUpdateMs(inputs, rendering.renderedAtMs)),
  }
}

/**
 * When a newer answer is due: as soon as the next of what it rests on is due to be confirmed again. It
 * is no slot, because it does not move with time: once it has passed, an update is overdue.
 */
function nextUpdateMs(inputs: readonly Input[], renderedAtMs: number): number {
  const dueMs = inputs
    .filter(({ isLoadBearing }) => isLoadBearing)
    .map(({ confirmedAtMs, cadenceMs }) => confirmedAtMs + cadenceMs)
  return dueMs.length === 0 ? renderedAtMs : Math.min(...dueMs)
}
