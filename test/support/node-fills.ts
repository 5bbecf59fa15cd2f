import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { LiquidationMethod } from '../../src/domain/event.ts'
import type { CoinCandles } from '../../src/store/candle-folder.ts'
import { chanceOf } from './candle-walk.ts'

/** Archived fills in the documented schema of `node_fills_by_block` and `node_fills`, with invented figures. */

export type PlantedTrade = {
  readonly coin: string
  readonly tradeId: number
  readonly timeMs: number
  /** Side of the position that was closed. */
  readonly side: 'long' | 'short'
  readonly sizeBase: number
  readonly markPrice: number
  readonly method?: LiquidationMethod
  readonly isDeleveraging?: boolean
  readonly account?: string
}

/** Account and fill, as an event of a block and as a line of the older form. */
export type FillPair = readonly [string, Readonly<Record<string, unknown>>]

const HOUR_MS = 3_600_000
const QUARTER_MS = HOUR_MS / 4
const LIQUIDATED = `0x${'a1'.repeat(20)}`
const OTHER = `0x${'b2'.repeat(20)}`

/** In every bar some liquidations of both sides between its low and high, together about a fiftieth of its turnover. */
export function liquidationsOf(
  { coin, quarters }: Pick<CoinCandles, 'coin' | 'quarters'>,
  seed: number,
): readonly PlantedTrade[] {
  const chance = chanceOf(seed)
  return quarters.flatMap(({ openTimeMs, low, high, volumeBase }, bar) =>
    Array.from({ length: 4 }, (_, at): PlantedTrade => {
      return {
        ...{ coin, tradeId: 1e9 * seed + 4 * bar + at },
        timeMs: openTimeMs + Math.floor(chance() * QUARTER_MS),
        side: chance() < 0.5 ? 'long' : 'short',
        sizeBase: Number(((volumeBase * chance() ** 3) / 50).toFixed(4)) + 0.0001,
        markPrice: Number((low + chance() * (high - low)).toFixed(5)),
      }
    }),
  )
}

/** Both sides of a trade by which a position was liquidated. */
export function liquidatedPairs(trade: PlantedTrade): readonly FillPair[] {
  const { side, markPrice, method = 'market', account = LIQUIDATED, isDeleveraging } = trade
  const liquidation = { liquidatedUser: account, markPx: String(markPrice), method }
  const closes = side === 'long' ? 'A' : 'B'
  const dir = isDeleveraging ? 'Auto-Deleveraging' : null
  return [
    [account, { ...fillOf(trade, closes, dir ?? `Close ${titled(side)}`), liquidation }],
    [
      OTHER,
      { ...fillOf(trade, closes === 'A' ? 'B' : 'A', dir ?? `Open ${titled(side)}`), liquidation },
    ],
  ]
}

/** Both sides of a trade between accounts that nobody liquidates. */
export function ordinaryPairs(trade: PlantedTrade): readonly FillPair[] {
  return [
    [LIQUIDATED, fillOf(trade, 'B', 'Open Long')],
    [OTHER, fillOf(trade, 'A', 'Close Long')],
  ]
}

/** A line of `node_fills_by_block`. */
export function blockLine(number: number, timeMs: number, events: readonly FillPair[]): string {
  const text = (atMs: number) => `${new Date(atMs).toISOString().slice(0, -1)}654321`
  const times = { local_time: text(timeMs + 250), block_time: text(timeMs) }
  return JSON.stringify({ ...times, block_number: number, events })
}

/** Lines of consecutive blocks, one every `stepMs` and one for each trade. */
export function blockLines(
  span: { readonly fromMs: number; readonly untilMs: number; readonly stepMs: number },
  trades: readonly PlantedTrade[],
): readonly (readonly [timeMs: number, line: string])[] {
  const { fromMs, untilMs, stepMs } = span
  const blocks: [number, readonly FillPair[]][] = trades
    .filter(({ timeMs }) => timeMs >= fromMs && timeMs < untilMs)
    .map((trade) => [trade.timeMs, liquidatedPairs(trade)])
  for (let atMs = fromMs; atMs < untilMs; atMs += stepMs) blocks.push([atMs, []])
  blocks.sort(([one], [other]) => one - other)
  const first = Math.floor(fromMs / 10)
  return blocks.map(([atMs, events], at) => [atMs, blockLine(first + at, atMs, events)])
}

/** Writes lines to the files of their hours. @param hours those that are missing, by their start */
export function writeArchive(
  dir: string,
  lines: readonly (readonly [timeMs: number, line: string])[],
  missing: readonly number[] = [],
): void {
  const files = new Map<number, string[]>()
  for (const [timeMs, line] of lines) {
    const hourMs = timeMs - (timeMs % HOUR_MS)
    if (missing.includes(hourMs)) continue
    const file = files.get(hourMs)
    if (file === undefined) files.set(hourMs, [line])
    else file.push(line)
  }
  for (const [hourMs, file] of files) {
    const path = `${hourPath(dir, hourMs)}.gz`
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, gzipSync(`${file.join('\n')}\n`))
  }
}

/** `DIR/20260101/9`: as the archive names it, without an ending. */
export function hourPath(dir: string, hourMs: number): string {
  const iso = new Date(hourMs).toISOString()
  return join(dir, iso.slice(0, 10).replaceAll('-', ''), String(new Date(hourMs).getUTCHours()))
}

function fillOf(
  { coin, tradeId, timeMs, sizeBase, markPrice }: PlantedTrade,
  side: 'A' | 'B',
  dir: string,
) {
  return {
    ...{ coin, px: String(markPrice), sz: String(sizeBase), side, time: timeMs },
    ...{ startPosition: '0.0', dir, closedPnl: '0.0', hash: `0x${'00'.repeat(32)}`, oid: tradeId },
    ...{ crossed: side === 'A', fee: '0.0', tid: tradeId, cloid: null, feeToken: 'USDC' },
    twapId: null,
  }
}

function titled(side: 'long' | 'short'): string {
  return side === 'long' ? 'Long' : 'Short'
}
