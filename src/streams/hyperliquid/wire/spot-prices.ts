import type { TokenPrice } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import { USDC_TOKEN } from '../../../domain/listing.ts'
import type { Drop, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { VenueObject } from './values.ts'
import { isVenueObject, readAmount, readInteger, readPrice } from './values.ts'

/** The venue has about 450 spot tokens. */
export const TOKEN_INDEX_MAX = 65_535
const TOKENS_MAX = 8_192
const TOKEN_NAME = /^[A-Za-z0-9_.*?+-]{1,32}$/

/** 24 h volume below which the price of a pair is no conversion rate, USDC. */
export const PAIR_NOTIONAL_USD_MIN = 100_000
/** Largest ratio between mid price and mark price of a pair. */
const MARK_FACTOR_MAX = 1.1

export type SpotReply = {
  readonly kind: 'spot'
  readonly tokens: readonly TokenPrice[]
  readonly drops: readonly Drop[]
}

type SpotPair = { readonly usdcPrice: number | null; readonly dayNotionalUsd: number }

const NO_PAIR: SpotPair = { usdcPrice: null, dayNotionalUsd: 0 }

/** The reply to `spotMetaAndAssetCtxs`: the USDC price of each spot token. Its contexts are joined by pair name. */
export function decodeSpotPrices(body: string): SpotReply | Rejected {
  const reply = parsedJson(body)
  if (reply === undefined) return rejected('not_json')
  if (!Array.isArray(reply) || !isVenueObject(reply[0]) || !Array.isArray(reply[1]))
    return rejected('bad_shape')
  const [{ tokens: tokenRows, universe: pairRows }, contexts] = reply as [VenueObject, unknown[]]
  if (!Array.isArray(tokenRows) || !Array.isArray(pairRows)) return rejected('bad_shape')
  const drops: Drop[] = []
  const pairs = pairsByToken(pairRows, contextsByName(contexts))
  const tokens = new Map<number, TokenPrice>()
  for (const row of tokenRows.slice(0, TOKENS_MAX)) {
    const { index, name } = isVenueObject(row) ? row : {}
    const token = readInteger(index, 0, TOKEN_INDEX_MAX)
    if (token === undefined || typeof name !== 'string' || !TOKEN_NAME.test(name))
      drops.push(drop('bad_row', 'tokens'))
    else if (tokens.has(token)) return rejected('bad_rows')
    else tokens.set(token, { token, name, ...(pairs.get(token) ?? NO_PAIR) })
  }
  return { kind: 'spot', tokens: [...tokens.values()], drops }
}

function contextsByName(rows: readonly unknown[]): ReadonlyMap<unknown, VenueObject> {
  return new Map(rows.flatMap((row) => (isVenueObject(row) ? [[row.coin, row] as const] : [])))
}

/** The USDC pair of each token; the most traded one of several. */
function pairsByToken(
  rows: readonly unknown[],
  contexts: ReadonlyMap<unknown, VenueObject>,
): ReadonlyMap<number, SpotPair> {
  const pairs = new Map<number, SpotPair>()
  for (const row of rows) {
    if (!isVenueObject(row) || !Array.isArray(row.tokens)) continue
    const [base, quote]: readonly unknown[] = row.tokens
    const context = contexts.get(row.name)
    if (typeof base !== 'number' || quote !== USDC_TOKEN || context === undefined) continue
    const pair = pairOf(context)
    const known = pairs.get(base)
    if (known === undefined || pair.dayNotionalUsd > known.dayNotionalUsd) pairs.set(base, pair)
  }
  return pairs
}

function pairOf({ midPx, markPx, dayNtlVlm }: VenueObject): SpotPair {
  const [mid, mark] = [readPrice(midPx), readPrice(markPx)]
  const dayNotionalUsd = readAmount(dayNtlVlm) ?? 0
  const isValid =
    mid !== undefined &&
    mark !== undefined &&
    Math.max(mid / mark, mark / mid) <= MARK_FACTOR_MAX &&
    dayNotionalUsd >= PAIR_NOTIONAL_USD_MIN
  return { usdcPrice: isValid ? mid : null, dayNotionalUsd }
}
