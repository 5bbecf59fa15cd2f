import type { AnalysisContract } from '../../domain/contract.ts'
import type { AnswerInputs, Document, NoAnswer } from '../../domain/document.ts'
import type { Rendering } from '../analysis.ts'
import { answerMeta } from './answer-meta.ts'
import { DocumentBuilder } from './document-builder.ts'

type OneAnswer = AnswerInputs & {
  /** Members of the answer before `meta`. */
  readonly members: Readonly<Record<string, unknown>>
  readonly sources: readonly string[]
  /** Additional members of `meta`. */
  readonly moreMeta?: Readonly<Record<string, unknown>>
  /** Time of the next answer of an analysis with its own schedule. */
  readonly nextUpdateMs?: number
}

/** The document of an analysis with one view: its answer, or why there is none. */
export function oneAnswer(
  { offering }: Pick<AnalysisContract, 'offering'>,
  rendering: Rendering,
  write: (builder: DocumentBuilder) => OneAnswer | NoAnswer,
): Document {
  const builder = new DocumentBuilder()
  const outcome = write(builder)
  if ('kind' in outcome) {
    builder.noAnswer('', outcome)
    return builder.build(rendering)
  }
  const { members, inputs, sources, moreMeta, nextUpdateMs, coveragePct, warnings } = outcome
  const schedule = nextUpdateMs === undefined ? {} : { nextUpdateMs }
  const meta = answerMeta(builder, {
    ...{ offering, rendering, view: '', inputs, sources, ...schedule },
    ...(moreMeta && { more: moreMeta }),
  })
  builder.answer('', [builder.value({ ...members, meta })], { inputs, coveragePct, warnings })
  return builder.build({ ...rendering, ...schedule })
}
