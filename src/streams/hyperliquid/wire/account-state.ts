import type { DropReason, Rejected, VenueObject } from './values.ts'
import {
  AMOUNT_MAX,
  decimal,
  integerBetween,
  isVenueObject,
  PRICE_MAX,
  price,
  rejected,
} from './values.ts'

/** What an account holds of one coin. */
export type Position = {
  readonly coin: string
  /** Negative for a short; never 0. */
  readonly sizeBase: number
  readonly entryPrice: number
  readonly leverage: number
  /** null where no price of the coin would liquidate the account. */
  readonly liquidationPrice: number | null
}

type AccountState = {
  readonly kind: 'account'
  /** One a coin. */
  readonly positions: readonly Position[]
  /** Coins of which the account holds something that could not be read. */
  readonly unread: readonly string[]
  readonly drops: readonly DropReason[]
}

const LEVERAGE_MAX = 1_000

/**
 * The reply to `clearinghouseState`. It never throws; a position that cannot be is left out.
 * @param coins that are listed
 */
export function decodeAccountState(
  body: string,
  coins: ReadonlySet<string>,
): AccountState | Rejected {
  let state: unknown
  try {
    state = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  if (!isVenueObject(state) || !Array.isArray(state.assetPositions)) return rejected('bad_shape')
  const positions = new Map<string, Position>()
  const unread = new Set<string>()
  const drops: DropReason[] = []
  for (const row of state.assetPositions as readonly unknown[]) {
    const told = isVenueObject(row) ? row.position : undefined
    const coin = isVenueObject(told) ? told.coin : undefined
    if (!isVenueObject(told) || typeof coin !== 'string') drops.push('bad_row')
    else if (!coins.has(coin)) drops.push('unknown_coin')
    else {
      const position = positions.has(coin) ? 'bad_row' : decodePosition(told, coin)
      if (typeof position === 'string') {
        drops.push(position)
        unread.add(coin)
      } else positions.set(coin, position)
    }
  }
  // Told twice, or once well and once badly: who knows which is true.
  for (const coin of unread) positions.delete(coin)
  return { kind: 'account', positions: [...positions.values()], unread: [...unread], drops }
}

/** @returns the position, or why its figures cannot be those of one. */
function decodePosition(row: VenueObject, coin: string): Position | DropReason {
  const sizeBase = decimal(row.szi)
  if (sizeBase === undefined || sizeBase === 0 || Math.abs(sizeBase) > AMOUNT_MAX) return 'bad_size'
  const entryPrice = price(row.entryPx)
  const liquidationPrice = decodeLiquidationPrice(row.liquidationPx)
  if (entryPrice === undefined || liquidationPrice === undefined) return 'bad_price'
  const leverage = isVenueObject(row.leverage)
    ? integerBetween(row.leverage.value, 1, LEVERAGE_MAX)
    : undefined
  if (leverage === undefined) return 'bad_number'
  return { coin, sizeBase, entryPrice, leverage, liquidationPrice }
}

/** A price that no coin can have is told of an account that cannot be liquidated, as is null. */
function decodeLiquidationPrice(value: unknown): number | null | undefined {
  if (value === null) return null
  const told = decimal(value)
  if (told === undefined) return undefined
  return told > 0 && told <= PRICE_MAX ? told : null
}

/** What positions are worth together, at the prices at which they were entered. */
export function heldUsd(positions: readonly Position[]): number {
  return positions.reduce(
    (usd, { sizeBase, entryPrice }) => usd + Math.abs(sizeBase) * entryPrice,
    0,
  )
}
