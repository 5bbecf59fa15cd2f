import { parsedJson } from '../../domain/json.ts'
import type { LiquidationFill } from '../hyperliquid/wire/liquidation-fills.ts'
import { decodeFillPairs } from '../hyperliquid/wire/liquidation-fills.ts'
import { isVenueObject } from '../hyperliquid/wire/values.ts'

/** Both accounts of a trade are within few blocks of each other. */
const TRADES_KEPT_MAX = 65_536

export type NodeFillsReport = {
  readonly lines: number
  /** Lines that are not JSON of this form. */
  readonly unreadable: number
  readonly fills: number
  /** Fills with a mark of a liquidation that contradicts itself. */
  readonly dropped: number
}

/**
 * The liquidations in the fills that the venue's nodes write, an hour a file: `node_fills_by_block`, one block a line with
 * `events` of account and fill, and the older `node_fills`, one account and fill a line. Each trade once. The lines are those
 * of the decompressed file (`lz4 -dc FILE`).
 * @returns what was read, when all lines are
 */
export function* nodeLiquidations(
  lines: Iterable<string>,
  isVault: (account: string) => boolean = () => false,
): Generator<LiquidationFill, NodeFillsReport> {
  const report = { lines: 0, unreadable: 0, fills: 0, dropped: 0 }
  const trades = new Set<string>()
  for (const line of lines) {
    if (line.trim() === '') continue
    report.lines += 1
    const pairs = pairsOf(parsedJson(line))
    if (pairs === null) {
      report.unreadable += 1
      continue
    }
    const { liquidations, rows, drops } = decodeFillPairs(pairs, Number.MAX_SAFE_INTEGER)
    report.fills += rows
    report.dropped += drops.length
    for (const fill of liquidations) {
      const trade = `${fill.coin} ${fill.tradeId}`
      if (trades.has(trade) || isVault(fill.account)) continue
      trades.add(trade)
      if (trades.size > TRADES_KEPT_MAX) removeOldest(trades)
      yield fill
    }
  }
  return report
}

function pairsOf(line: unknown): readonly unknown[] | null {
  if (Array.isArray(line)) return [line]
  return isVenueObject(line) && Array.isArray(line.events) ? line.events : null
}

function removeOldest(trades: Set<string>): void {
  const [oldest] = trades
  if (oldest !== undefined) trades.delete(oldest)
}
