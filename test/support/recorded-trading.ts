import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { CoinEvent } from '../../src/domain/event.ts'

/** 35 minutes of BTC and SOL. */
const FOLDER = join(import.meta.dirname, '../../../shared/data/hl-l2-trades-2025-09')

export const hasRecordedTrading = existsSync(FOLDER)

/** Books, best quotes and trades, each once, in the order in which the recorder received them. */
export function recordedTrading(coin: string): readonly CoinEvent[] {
  const rows = (file: string) => {
    const text = gunzipSync(readFileSync(join(FOLDER, `${file}_${coin}.csv.gz`))).toString('utf8')
    const [header, ...lines] = text.trim().split(/\r?\n/)
    const names = header?.split(',') ?? []
    return lines.map((line) => {
      const cells = line.split(',')
      return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']))
    })
  }
  const level = (price: string | undefined, size: string | undefined) => ({
    price: Number(price),
    sizeBase: Number(size),
  })
  const books = rows('orderbooks').map((row): CoinEvent => {
    const side = (name: string) =>
      Array.from({ length: 20 }, (_, at) =>
        level(row[`${name}_price_${at}`], row[`${name}_size_${at}`]),
      )
    return { kind: 'book', coin, bids: side('bid'), asks: side('ask'), ...stamp(row, 'sequence') }
  })
  const tops: CoinEvent[] = []
  const quotes = rows('prices')
  for (let at = 0; at + 1 < quotes.length; at += 1) {
    const [bid, ask] = [quotes[at], quotes[at + 1]]
    if (bid?.['side'] !== 'bid' || ask?.['side'] !== 'ask') continue
    if (bid['exchange_timestamp'] !== ask['exchange_timestamp']) continue
    tops.push({
      kind: 'top-of-book',
      coin,
      bid: level(bid['price'], bid['size']),
      ask: level(ask['price'], ask['size']),
      ...stamp(bid, 'exchange_timestamp'),
    })
  }
  const seen = new Set<string>()
  const trades = rows('trades').flatMap((row): CoinEvent[] => {
    const id = row['trade_id'] ?? ''
    if (seen.has(id)) return []
    seen.add(id)
    return [
      {
        kind: 'trade',
        coin,
        tradeId: Number(id),
        takerSide: row['side'] === 'buy' ? 'buy' : 'sell',
        ...level(row['price'], row['size']),
        ...stamp(row, 'exchange_timestamp'),
      },
    ]
  })
  return [...books, ...tops, ...trades].toSorted(
    (one, other) => one.timeReceivedMs - other.timeReceivedMs,
  )
}

function stamp(row: Readonly<Record<string, string>>, exchange: string) {
  return {
    timeExchangeMs: Number(row[exchange]),
    timeReceivedMs: Math.round(1_000 * Number(row['timestamp'])),
  }
}
