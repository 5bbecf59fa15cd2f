import type { FillsWindow, LiquidationEvent, Stamped } from '../../../domain/event.ts'
import { liquidationMethods } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import type { Drop, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { VenueObject } from './values.ts'
import {
  AMOUNT_MAX,
  isVenueObject,
  readAddress,
  readAmount,
  readPrice,
  readTimeMs,
} from './values.ts'

/** A fill with the venue's mark of a liquidation. */
export type LiquidationFill = Omit<LiquidationEvent, 'kind' | keyof Stamped> & {
  readonly timeMs: number
}

export type LiquidationFills = {
  readonly kind: 'fills'
  readonly liquidations: readonly LiquidationFill[]
  /** Number of all fills, of liquidations or not. */
  readonly rows: number
  /** Time of the newest fill; NaN without one. */
  readonly newestMs: number
  readonly drops: readonly Drop[]
}

/** The venue's limit of fills per reply. */
export const FILLS_MAX = 2_000

/** The venue's direction of a fill that closes a winning position against a bankrupt one. */
const DELEVERAGING = 'Auto-Deleveraging'
/** Within this factor of the mark: a liquidation far from it is an error of the sender. */
const MARK_FACTOR_MAX = 3

/** The reply to `userFillsByTime` of one account. Fills outside of the requested time are dropped. */
export function decodeUserFills(
  body: string,
  request: FillsWindow,
  latestMs: number,
): LiquidationFills | Rejected {
  const rows = parsedJson(body)
  if (rows === undefined) return rejected('not_json')
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const { account, fromMs, untilMs } = request
  const isRequested = (timeMs: number) => timeMs >= fromMs && timeMs <= untilMs
  return collect(
    (rows as readonly unknown[]).map((row) => [account, row]),
    (timeMs) => isRequested(timeMs),
    latestMs,
  )
}

/** Pairs of account and fill, as in the venue's archive and in a feed of all liquidations. */
export function decodeFillPairs(pairs: readonly unknown[], latestMs: number): LiquidationFills {
  return collect(pairs, () => true, latestMs)
}

function collect(
  pairs: readonly unknown[],
  isRequested: (timeMs: number) => boolean,
  latestMs: number,
): LiquidationFills {
  const liquidations: LiquidationFill[] = []
  const drops: Drop[] = []
  let newestMs = Number.NaN
  for (const pair of pairs) {
    const [user, row] = Array.isArray(pair) ? (pair as readonly unknown[]) : []
    const account = readAddress(user)
    if (!isVenueObject(row)) {
      drops.push(drop('bad_row', 'fills'))
      continue
    }
    const timeMs = readTimeMs(row.time, latestMs)
    const coin = typeof row.coin === 'string' ? row.coin : null
    if (account === undefined) drops.push(drop('bad_row', 'fills', coin))
    else if (timeMs === undefined || !isRequested(timeMs))
      drops.push(drop('bad_time', 'time', coin))
    else {
      if (!(timeMs <= newestMs)) newestMs = timeMs
      const fill = liquidationOf(row, { coin, account, timeMs })
      if (fill === null) continue
      if ('reason' in fill) drops.push(fill)
      else liquidations.push(fill)
    }
  }
  return { kind: 'fills', liquidations, rows: pairs.length, newestMs, drops }
}

/** @returns null for a fill without the mark of a liquidation, and for one by deleveraging, which has the same mark */
function liquidationOf(
  row: VenueObject,
  { coin, account, timeMs }: Pick<LiquidationFill, 'account' | 'timeMs'> & Pick<Drop, 'coin'>,
): LiquidationFill | Drop | null {
  const mark = row.liquidation
  if (mark === undefined || mark === null || row.dir === DELEVERAGING) return null
  if (coin === null || !isVenueObject(mark)) return drop('bad_row', 'liquidation', coin)
  const liquidated = readAddress(mark.liquidatedUser)
  const method = liquidationMethods.find((one) => one === mark.method)
  if (liquidated === undefined || method === undefined) return drop('bad_row', 'liquidation', coin)
  const price = readPrice(row.px)
  const markPrice = readMark(mark.markPx)
  if (price === undefined || markPrice === undefined) return drop('bad_price', 'px', coin)
  if (Math.max(price / markPrice, markPrice / price) > MARK_FACTOR_MAX)
    return drop('doubtful_figure', 'px', coin)
  const sizeBase = readAmount(row.sz)
  if (sizeBase === undefined || sizeBase === 0 || sizeBase > AMOUNT_MAX)
    return drop('bad_size', 'sz', coin)
  const { tid: tradeId } = row
  if (typeof tradeId !== 'number' || !Number.isSafeInteger(tradeId) || tradeId < 0)
    return drop('bad_trade_id', 'tid', coin)
  if (row.side !== 'A' && row.side !== 'B') return drop('bad_side', 'side', coin)
  // Both accounts of the trade have the mark; the other one took the position over.
  const isSold = (row.side === 'A') === (liquidated === account)
  const side = isSold ? 'long' : 'short'
  return { coin, tradeId, account: liquidated, side, price, sizeBase, markPrice, method, timeMs }
}

/** A string in the venue's replies, a number in some of its records. */
function readMark(value: unknown): number | undefined {
  return readPrice(typeof value === 'number' ? String(value) : value)
}

/** @param isVault whether an account is a liquidator vault: its own positions are deleveraged, not liquidated */
export function liquidationEvents(
  fills: readonly LiquidationFill[],
  isVault: (account: string) => boolean,
  timeReceivedMs: number,
): readonly LiquidationEvent[] {
  return fills
    .filter(({ account }) => !isVault(account))
    .map(({ timeMs, ...fill }) => ({
      kind: 'liquidation',
      ...fill,
      timeExchangeMs: timeMs,
      timeReceivedMs,
    }))
}
