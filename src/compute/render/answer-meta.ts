import type { Input } from '../../domain/document.ts'
import { nextUpdateMs } from '../../domain/document.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { Rendering } from '../analysis.ts'
import { PROVIDER } from './answer-schema.ts'
import type { DocumentBuilder } from './document-builder.ts'

/** Placeholder in `answer_id` for the view's key: everything else in `meta` is the same in every view. */
export const VIEW_MARK = '{view}'

/** The `meta` object of one view, for the builder. */
export function answerMeta(
  builder: DocumentBuilder,
  facts: {
    readonly offering: string
    readonly rendering: Rendering
    readonly view: string
    readonly inputs: readonly Input[]
    readonly sources: readonly string[]
    /** Instants by component, for an answer that consists of others. */
    readonly asOf?: Readonly<Record<string, string>>
    /** Time of the next answer of an analysis with its own schedule. */
    readonly nextUpdateMs?: number
    /** Additional members of this analysis. */
    readonly more?: Readonly<Record<string, unknown>>
  },
): Record<string, unknown> {
  const { rendering, inputs } = facts
  return {
    provider: PROVIDER,
    offering: facts.offering,
    execution_ms: builder.slot({ kind: 'execution-ms' }),
    ...facts.more,
    ...freshnessMeta(builder, inputs, facts.asOf),
    sources: facts.sources,
    answer_id: answerIdOf(facts),
    snapshot_id: rendering.snapshotId,
    engine_version: rendering.engineVersion,
    valid_until_iso: isoInstant(facts.nextUpdateMs ?? nextUpdateMs(inputs, rendering.renderedAtMs)),
  }
}

/** Members of `meta` about age and quality. */
export function freshnessMeta(
  builder: DocumentBuilder,
  inputs: readonly Input[],
  asOf = asOfEach(inputs),
): Record<string, unknown> {
  return { ...builder.memberSlot({ kind: 'freshness' }), as_of: asOf }
}

function asOfEach(inputs: readonly Input[]): Readonly<Record<string, string>> {
  const shown: Record<string, string> = {}
  for (const { name, confirmedAtMs } of inputs) shown[name] = isoInstant(confirmedAtMs)
  return shown
}

/** Answers of one rendering, as in a bundle, differ by product; those of one product by view. */
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
