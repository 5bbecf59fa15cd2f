import { parsedJson } from '../../domain/json.ts'
import type { LiquidationFill } from '../hyperliquid/wire/liquidation-fills.ts'
import { decodeFillPairs } from '../hyperliquid/wire/liquidation-fills.ts'
import { isVenueObject, readInteger, readTimeMs } from '../hyperliquid/wire/values.ts'

/** A time in which no fill of the venue is missing, except those of a {@link FillGap}. */
export type CoveredSpan = { readonly fromMs: number; readonly untilMs: number }

/** A time in which fills of one coin may be missing. */
export type FillGap = CoveredSpan & { readonly coin: string }

/** `dropped`: a fill in it is invalid, such as a liquidation whose figures contradict each other. */
export type LineState = 'read' | 'unreadable' | 'dropped'

type Block = { readonly timeMs: number; readonly number: number | null }

const HOUR_MS = 3_600_000
/** A file is named by the hour, and may have some seconds of its neighbours. */
const BESIDE_MS_MAX = HOUR_MS
/**
 * Lines without a block number follow each other without a loss if they are this near: the whole venue, hundreds of
 * markets, has several fills a second.
 */
const SILENT_MS_MAX = 10_000
/** Of the hour with the most liquidations so far about 0.3 million. */
const TRADES_MAX = 1_000_000

const MARK = '"liquidation"'
const BLOCK_HEAD = /^\{"local_time":"[^"]*","block_time":"([^"]*)","block_number":(\d+),"events":\[/
const PAIR_HEAD = /^\["0x[0-9a-fA-F]{40}",\{/
const PAIR_TIME = /"time":(\d{13})[,}]/
/** In UTC, with up to nine decimals. */
const BLOCK_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*Z?$/

/**
 * Liquidations in the fills that the venue's nodes write, an hour a file: `node_fills_by_block`, one block a line with
 * `events` of account and fill, and the older `node_fills`, one account and fill a line. Each trade once, although both
 * accounts have it. A time is covered if block numbers follow each other, or lines without them in time: a node writes a
 * line for each block, also for one without fills (`--batch-by-block`,
 * https://github.com/hyperliquid-dex/node#flags), so a number that is missing is a loss.
 */
export class NodeFills {
  readonly #trades = new Map<string, LiquidationFill>()
  #spans: CoveredSpan[] = []
  #gaps: FillGap[] = []
  #fromMs = Number.NaN
  #last: Block = { timeMs: Number.NaN, number: null }
  /** What follows the last line is not known. */
  #isBroken = true

  /** @param hourMs start of the hour after which the file is named */
  read(line: string, hourMs: number): LineState {
    const isOfFile = ({ timeMs }: Block) =>
      timeMs >= hourMs - BESIDE_MS_MAX && timeMs < hourMs + HOUR_MS + BESIDE_MS_MAX
    // Most lines have no liquidation, and parsing takes most of the time.
    const plain = line.includes(MARK) ? null : blockOfPlain(line)
    if (plain !== null && isOfFile(plain)) {
      this.#cover(plain)
      return 'read'
    }
    const parsed = blockOf(parsedJson(line), hourMs + 2 * HOUR_MS)
    if (parsed === null || !isOfFile(parsed)) {
      this.lose()
      return 'unreadable'
    }
    const { liquidations, drops } = decodeFillPairs(parsed.pairs, hourMs + 2 * HOUR_MS)
    const lost = new Set(drops.map(({ coin }) => coin))
    for (const fill of liquidations)
      if (this.#trades.size < TRADES_MAX) this.#trades.set(`${fill.coin} ${fill.tradeId}`, fill)
      else lost.add(fill.coin)
    if (lost.has(null)) this.lose()
    else this.#cover(parsed)
    const { timeMs: fromMs } = parsed
    for (const coin of lost)
      if (coin !== null) this.#gaps.push({ coin, fromMs, untilMs: fromMs + 1 })
    return lost.size === 0 ? 'read' : 'dropped'
  }

  /** What follows the last line is lost. */
  lose(): void {
    this.#isBroken = true
  }

  /** @returns what removes the lines that were read since */
  mark(): () => void {
    const [trades, spans, gaps] = [[...this.#trades], [...this.#spans], [...this.#gaps]]
    const [fromMs, last, isBroken] = [this.#fromMs, this.#last, this.#isBroken]
    return () => {
      this.#trades.clear()
      for (const [name, fill] of trades) this.#trades.set(name, fill)
      this.#spans = spans
      this.#gaps = gaps
      this.#fromMs = fromMs
      this.#last = last
      this.#isBroken = isBroken
    }
  }

  /** Of the lines since the last call; liquidations and gaps in the order of time. */
  take(): {
    readonly fills: readonly LiquidationFill[]
    readonly spans: readonly CoveredSpan[]
    readonly gaps: readonly FillGap[]
  } {
    const fills = [...this.#trades.values()].sort((one, other) => one.timeMs - other.timeMs)
    const gaps = this.#gaps.sort((one, other) => one.fromMs - other.fromMs)
    this.#trades.clear()
    this.#close()
    const spans = this.#spans
    this.#spans = []
    this.#gaps = []
    return { fills, spans, gaps }
  }

  #cover(block: Block): void {
    const { timeMs, number } = block
    // The same lines again, or those of the other form of the archive.
    if (timeMs < this.#last.timeMs || (number !== null && number === this.#last.number)) return
    if (this.#isBroken || !isNext(block, this.#last)) {
      this.#close()
      // Several lines without a number have one time, of which some may be missing.
      this.#fromMs = number === null ? timeMs + 1 : timeMs
    }
    this.#last = block
    this.#isBroken = false
  }

  #close(): void {
    const { timeMs: untilMs } = this.#last
    if (untilMs > this.#fromMs) this.#spans.push({ fromMs: this.#fromMs, untilMs })
    this.#fromMs = untilMs
  }
}

function isNext({ timeMs, number }: Block, last: Block): boolean {
  return number !== null && last.number !== null
    ? number === last.number + 1
    : timeMs - last.timeMs <= SILENT_MS_MAX
}

/** A whole line in the order of members in which the nodes write it; null for any other. */
function blockOfPlain(line: string): Block | null {
  const [, time = '', number = ''] = BLOCK_HEAD.exec(line) ?? []
  if (number !== '' && line.endsWith(']}'))
    return { timeMs: blockTimeMs(time), number: Number(number) }
  if (!PAIR_HEAD.test(line) || !line.endsWith('}]')) return null
  const [, pairTime = ''] = PAIR_TIME.exec(line) ?? []
  return pairTime === '' ? null : { timeMs: Number(pairTime), number: null }
}

function blockOf(value: unknown, latestMs: number): (Block & { pairs: readonly unknown[] }) | null {
  if (Array.isArray(value)) {
    const [, row] = value as readonly unknown[]
    const timeMs = isVenueObject(row) ? readTimeMs(row.time, latestMs) : undefined
    return timeMs === undefined ? null : { timeMs, number: null, pairs: [value] }
  }
  if (!isVenueObject(value) || !Array.isArray(value.events)) return null
  const number = readInteger(value.block_number, 0, Number.MAX_SAFE_INTEGER)
  if (number === undefined || typeof value.block_time !== 'string') return null
  return { timeMs: blockTimeMs(value.block_time), number, pairs: value.events }
}

/** NaN for another form. */
function blockTimeMs(text: string): number {
  const [, time] = BLOCK_TIME.exec(text) ?? []
  return time === undefined ? Number.NaN : Date.parse(`${time}Z`)
}
