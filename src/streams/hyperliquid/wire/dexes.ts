import { parsedJson } from '../../../domain/json.ts'
import type { Rejected } from './rejection.ts'
import { rejected } from './rejection.ts'
import { isVenueObject } from './values.ts'

/** The prefix of a dex's perpetuals. Occurs in URLs and keys. */
export const DEX_NAME = /^[a-z0-9]{1,16}$/

/** The venue has about ten. A list that exceeds this is invalid. */
export const DEXES_MAX = 64

const FULL_NAME = /^[\x20-\x7e]{1,64}$/

export type ListedDex = { readonly name: string; readonly fullName: string | null }

/**
 * The reply to `perpDexs`: the builder-deployed dexes, each once. The venue's own dex is null in the reply.
 * @param known names of earlier replies, which count towards {@link DEXES_MAX}
 */
export function decodeDexes(
  body: string,
  known: ReadonlySet<string> = new Set(),
): { readonly dexes: readonly ListedDex[] } | Rejected {
  const rows = parsedJson(body)
  if (rows === undefined) return rejected('not_json')
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const dexes = new Map<string, ListedDex>()
  for (const row of rows) {
    const { name, fullName } = isVenueObject(row) ? row : {}
    if (typeof name !== 'string' || !DEX_NAME.test(name)) continue
    const isValid = typeof fullName === 'string' && FULL_NAME.test(fullName)
    dexes.set(name, { name, fullName: isValid ? fullName : null })
  }
  const isTooMany = new Set([...known, ...dexes.keys()]).size > DEXES_MAX
  return isTooMany ? rejected('universe_length') : { dexes: [...dexes.values()] }
}
