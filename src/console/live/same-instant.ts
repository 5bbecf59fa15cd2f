import type { AnswerState, DocumentState } from './documents.ts'

/** Prices of one panel are not farther apart. */
const APART_MS_MAX = 60_000

/** Whether an answer may be shown under the age of another one, which is of this instant. */
export function isOfInstant<Answer>(
  state: DocumentState<Answer>,
  atMs: number,
): state is AnswerState<Answer> {
  return (
    state.kind === 'answer' && state.refusal === null && Math.abs(state.atMs - atMs) <= APART_MS_MAX
  )
}
