import type { Rejected } from './values.ts'
import { isVenueObject, rejected } from './values.ts'

/** The prefix of the names of a dex's perpetuals; it may stand in a URL and in a key. */
export const DEX_NAME = /^[a-z0-9]{1,16}$/

/** The venue has some ten. A list that would make them more than this is taken for a fault. */
export const DEXES_MAX = 64

const FULL_NAME = /^[\x20-\x7e]{1,64}$/

export type ListedDex = { readonly name: string; readonly fullName: string | null }

/**
 * The reply to `perpDexs`: the dexes beside the venue's own, which is told as null. Each name once.
 * @param before names of earlier replies, which count towards the most that there can be
 */
export function decodeDexes(
  body: string,
  before: ReadonlySet<string> = new Set(),
): { readonly dexes: readonly ListedDex[] } | Rejected {
  let rows: unknown
  try {
    rows = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const dexes = new Map<string, ListedDex>()
  for (const row of rows) {
    const { name, fullName } = isVenueObject(row) ? row : {}
    if (typeof name !== 'string' || !DEX_NAME.test(name)) continue
    const isShown = typeof fullName === 'string' && FULL_NAME.test(fullName)
    dexes.set(name, { name, fullName: isShown ? fullName : null })
  }
  const isTooMany = new Set([...before, ...dexes.keys()]).size > DEXES_MAX
  return isTooMany ? rejected('universe_length') : { dexes: [...dexes.values()] }
}
