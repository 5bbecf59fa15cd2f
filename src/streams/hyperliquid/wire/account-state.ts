import type { AccountPositionEvent } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import type { Drop, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { VenueObject } from './values.ts'
import {
  AMOUNT_MAX,
  isVenueObject,
  PRICE_MAX,
  readDecimal,
  readInteger,
  readPrice,
} from './values.ts'

/** The position of an account in one coin; its size is never 0. */
export type Position = Pick<
  AccountPositionEvent,
  'coin' | 'sizeBase' | 'entryPrice' | 'leverage' | 'liquidationPrice'
>

export type AccountState = {
  readonly kind: 'account'
  /** One per coin. */
  readonly positions: readonly Position[]
  /** Coins with an unreadable position. */
  readonly unread: readonly string[]
  readonly drops: readonly Drop[]
}

const LEVERAGE_MAX = 1_000

/**
 * The reply to `clearinghouseState`. An invalid position is dropped.
 * @param coins listed coins
 */
export function decodeAccountState(
  body: string,
  coins: ReadonlySet<string>,
): AccountState | Rejected {
  const state = parsedJson(body)
  if (state === undefined) return rejected('not_json')
  if (!isVenueObject(state) || !Array.isArray(state.assetPositions)) return rejected('bad_shape')
  const positions = new Map<string, Position>()
  const unread = new Set<string>()
  const drops: Drop[] = []
  for (const row of state.assetPositions as readonly unknown[]) {
    const value = isVenueObject(row) ? row.position : undefined
    const coin = isVenueObject(value) ? value.coin : undefined
    if (!isVenueObject(value) || typeof coin !== 'string') {
      drops.push(drop('bad_row', 'assetPositions'))
    } else if (!coins.has(coin)) drops.push(drop('unknown_coin', 'coin'))
    else {
      const position = positions.has(coin)
        ? drop('bad_row', 'coin', coin)
        : decodePosition(value, coin)
      if ('reason' in position) {
        drops.push(position)
        unread.add(coin)
      } else positions.set(coin, position)
    }
  }
  // Two positions in one coin contradict each other.
  for (const coin of unread) positions.delete(coin)
  return { kind: 'account', positions: [...positions.values()], unread: [...unread], drops }
}

function decodePosition(row: VenueObject, coin: string): Position | Drop {
  const sizeBase = readDecimal(row.szi)
  if (sizeBase === undefined || sizeBase === 0 || Math.abs(sizeBase) > AMOUNT_MAX)
    return drop('bad_size', 'szi', coin)
  const entryPrice = readPrice(row.entryPx)
  if (entryPrice === undefined) return drop('bad_price', 'entryPx', coin)
  const liquidationPrice = readLiquidationPrice(row.liquidationPx)
  if (liquidationPrice === undefined) return drop('bad_price', 'liquidationPx', coin)
  const { value } = isVenueObject(row.leverage) ? row.leverage : {}
  const leverage = readInteger(value, 1, LEVERAGE_MAX)
  if (leverage === undefined) return drop('bad_number', 'leverage', coin)
  return { coin, sizeBase, entryPrice, leverage, liquidationPrice }
}

/** The venue sends null or an impossible price if nothing liquidates the account. */
function readLiquidationPrice(value: unknown): number | null | undefined {
  if (value === null) return null
  const price = readDecimal(value)
  if (price === undefined) return undefined
  return price > 0 && price <= PRICE_MAX ? price : null
}

/** The sum of positions at their entry prices. */
export function heldUsd(positions: readonly Position[]): number {
  return positions.reduce(
    (usd, { sizeBase, entryPrice }) => usd + Math.abs(sizeBase) * entryPrice,
    0,
  )
}
