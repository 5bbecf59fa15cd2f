import { foreignList, isForeignObject, ownMember } from '../foreign-json.ts'

/** One account as a node tells it. */
export type Account = {
  /** Program that owns it. */
  readonly owner: string
  readonly data: Buffer
}

/** Answer to `getMultipleAccounts`: everything as of one slot, null where nothing is. */
export type Accounts = {
  readonly slot: number
  readonly accounts: readonly (Account | null)[]
}

/** More than any account that is asked for. */
const DATA_CHARACTERS_MAX = 4_096

/**
 * @param asked number of accounts
 * @returns null for what is no answer to that question
 */
export function readAccounts(result: unknown, asked: number): Accounts | null {
  const slot = ownMember(ownMember(result, 'context'), 'slot')
  const value = ownMember(result, 'value')
  if (!Number.isSafeInteger(slot) || (slot as number) < 0) return null
  if (!Array.isArray(value) || value.length !== asked) return null
  return { slot: slot as number, accounts: foreignList(value, asked).map(readAccount) }
}

/** What cannot be read counts as absent. */
function readAccount(value: unknown): Account | null {
  if (!isForeignObject(value)) return null
  const owner = ownMember(value, 'owner')
  const [text, encoding] = foreignList(ownMember(value, 'data'), 2)
  if (typeof owner !== 'string' || typeof text !== 'string' || encoding !== 'base64') return null
  if (text.length > DATA_CHARACTERS_MAX) return null
  return { owner, data: Buffer.from(text, 'base64') }
}
