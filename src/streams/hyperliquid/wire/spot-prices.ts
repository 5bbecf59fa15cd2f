import type { TokenPrice } from '../../../domain/event.ts'
import { USDC_TOKEN } from '../../../domain/listing.ts'
import type { DropReason, Rejected, VenueObject } from './values.ts'
import { amount, integerBetween, isVenueObject, price, rejected } from './values.ts'

/** The venue has some 450 spot tokens. */
export const TOKEN_INDEX_MAX = 65_535
const TOKENS_MAX = 8_192
const TOKEN_NAME = /^[A-Za-z0-9_.*?+-]{1,32}$/

/** A pair that turns over less in a day has no price that money could be converted at, USDC. */
export const PAIR_NOTIONAL_USD_MIN = 100_000
/** Mid and mark of one pair agree within this factor, or one of them is wrong. */
const MARK_FACTOR_MAX = 1.1

export type SpotReply = {
  readonly kind: 'spot'
  readonly tokens: readonly TokenPrice[]
  readonly drops: readonly DropReason[]
}

type Pair = { readonly usdcPrice: number | null; readonly dayNotionalUsd: number }

const NO_PAIR: Pair = { usdcPrice: null, dayNotionalUsd: 0 }

/**
 * The reply to `spotMetaAndAssetCtxs`: what each spot token is worth against USDC. Its contexts carry the name of
 * their pair, and are joined by that.
 */
export function decodeSpotPrices(body: string): SpotReply | Rejected {
  let reply: unknown
  try {
    reply = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  if (!Array.isArray(reply) || !isVenueObject(reply[0]) || !Array.isArray(reply[1]))
    return rejected('bad_shape')
  const [{ tokens: tokenRows, universe: pairRows }, contexts] = reply as [VenueObject, unknown[]]
  if (!Array.isArray(tokenRows) || !Array.isArray(pairRows)) return rejected('bad_shape')
  const drops: DropReason[] = []
  const pairs = pairsByToken(pairRows, contextsByName(contexts))
  const tokens = new Map<number, TokenPrice>()
  for (const row of tokenRows.slice(0, TOKENS_MAX)) {
    const token = isVenueObject(row) ? integerBetween(row.index, 0, TOKEN_INDEX_MAX) : undefined
    const name = isVenueObject(row) ? row.name : undefined
    if (token === undefined || typeof name !== 'string' || !TOKEN_NAME.test(name))
      drops.push('bad_row')
    else if (tokens.has(token)) return rejected('bad_rows')
    else tokens.set(token, { token, name, ...(pairs.get(token) ?? NO_PAIR) })
  }
  return { kind: 'spot', tokens: [...tokens.values()], drops }
}

function contextsByName(rows: readonly unknown[]): ReadonlyMap<unknown, VenueObject> {
  return new Map(rows.flatMap((row) => (isVenueObject(row) ? [[row.coin, row] as const] : [])))
}

/** Of each token its pair against USDC, the most traded one where there are several. */
function pairsByToken(
  rows: readonly unknown[],
  contexts: ReadonlyMap<unknown, VenueObject>,
): ReadonlyMap<number, Pair> {
  const pairs = new Map<number, Pair>()
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

function pairOf({ midPx, markPx, dayNtlVlm }: VenueObject): Pair {
  const [mid, mark, dayNotionalUsd = 0] = [price(midPx), price(markPx), amount(dayNtlVlm)]
  const isSound =
    mid !== undefined &&
    mark !== undefined &&
    Math.max(mid / mark, mark / mid) <= MARK_FACTOR_MAX &&
    dayNotionalUsd >= PAIR_NOTIONAL_USD_MIN
  return { usdcPrice: isSound ? mid : null, dayNotionalUsd }
}
