import type { Rejected } from './wire.ts'
import { isWire, rejected } from './wire.ts'

/** The prefix of the names of a dex's perpetuals; it may stand in a URL and in a key. */
export const DEX_NAME = /^[a-z0-9]{1,16}$/

/** The venue has some ten. A list that would make them more than this is taken for a fault. */
export const DEXES_MAX = 64

/**
 * The reply to `perpDexs`: the dexes beside the venue's own, which is told as null.
 * @returns the names that were not told before
 */
export function decodeDexNames(
  body: string,
  told: ReadonlySet<string>,
): { readonly names: readonly string[] } | Rejected {
  let rows: unknown
  try {
    rows = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const names = rows.flatMap((row: unknown) => {
    const name = isWire(row) ? row.name : undefined
    return typeof name === 'string' && DEX_NAME.test(name) && !told.has(name) ? [name] : []
  })
  const fresh = new Set(names)
  if (told.size + fresh.size > DEXES_MAX) return rejected('universe_length')
  return { names: [...fresh] }
}
