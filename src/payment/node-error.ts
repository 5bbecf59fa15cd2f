import { BaseError } from 'viem'

/** A log line, not a page of HTML. */
const REASON_CHARS_MAX = 300

/**
 * Why a call to a node failed, for our own logs. viem's `message` names the URL, which may hold a
 * provider's key, and so may what a provider says itself.
 */
export function nodeReason(cause: unknown): string {
  return reasonOf(cause)
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S*/gi, '(URL)')
    .slice(0, REASON_CHARS_MAX)
}

/** Whether the node itself says so, and not the request that viem's `message` repeats. */
export function nodeSays(cause: unknown, words: RegExp): boolean {
  return cause instanceof BaseError && words.test(cause.details ?? '')
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof BaseError)) return cause instanceof Error ? cause.message : String(cause)
  const { shortMessage, details = '' } = cause
  return shortMessage.includes(details) ? shortMessage : `${shortMessage} ${details}`
}
