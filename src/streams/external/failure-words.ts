import { OperatingError } from '../../domain/errors.ts'

const DETAIL_CHARS_MAX = 200

/**
 * Of whatever went wrong: a word for everybody, and for the operator's log the end of the whole sentence.
 * The sentence holds the URL, which may be long, and may hold what the operator tells nobody.
 */
export function failureWords(cause: unknown): { readonly reason: string; readonly detail: string } {
  const reason = cause instanceof OperatingError ? cause.code : 'failed'
  return { reason, detail: String(cause).slice(-DETAIL_CHARS_MAX) }
}
