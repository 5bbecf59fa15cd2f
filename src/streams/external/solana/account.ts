import { isUntrustedObject, ownMember, untrustedList } from '../untrusted-json.ts'

export type SolanaAccount = {
  /** The program that owns it. */
  readonly owner: string
  readonly data: Buffer
}

/** The reply to `getMultipleAccounts`, as of one slot; null for an account that does not exist. */
export type AccountsReply = {
  readonly slot: number
  readonly accounts: readonly (SolanaAccount | null)[]
}

/** No requested account is larger. */
const DATA_CHARACTERS_MAX = 4_096

/**
 * @param count of requested accounts
 * @returns null for a result that does not answer the request
 */
export function readAccounts(result: unknown, count: number): AccountsReply | null {
  const slot = ownMember(ownMember(result, 'context'), 'slot')
  const value = ownMember(result, 'value')
  if (!Number.isSafeInteger(slot) || (slot as number) < 0) return null
  if (!Array.isArray(value) || value.length !== count) return null
  return { slot: slot as number, accounts: untrustedList(value, count).map(readAccount) }
}

/** @returns null also for an account that cannot be decoded */
function readAccount(value: unknown): SolanaAccount | null {
  if (!isUntrustedObject(value)) return null
  const owner = ownMember(value, 'owner')
  const [text, encoding] = untrustedList(ownMember(value, 'data'), 2)
  if (typeof owner !== 'string' || typeof text !== 'string' || encoding !== 'base64') return null
  if (text.length > DATA_CHARACTERS_MAX) return null
  return { owner, data: Buffer.from(text, 'base64') }
}
