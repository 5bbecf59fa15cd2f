import { BaseError } from 'viem'

/** Keeps a page of HTML out of the log. */
const REASON_CHARS_MAX = 300

/** Reason of a failed call to a node, for our logs. URLs are removed: they can contain the key of a provider. */
export function nodeReason(cause: unknown): string {
  return reasonOf(cause)
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S*/gi, '(URL)')
    .slice(0, REASON_CHARS_MAX)
}

/** Whether the node itself returned these words; the `message` of viem also repeats the request. */
export function nodeSays(cause: unknown, words: RegExp): boolean {
  return cause instanceof BaseError && words.test(cause.details ?? '')
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof BaseError)) return cause instanceof Error ? cause.message : String(cause)
  const { shortMessage, details = '' } = cause
  return shortMessage.includes(details) ? shortMessage : `${shortMessage} ${details}`
}
