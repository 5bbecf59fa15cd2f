import { isRecord, parsedJson } from '../../domain/json.ts'
import type { Book, Level, Trade } from './market.ts'
import { bits, noiseKey } from './noise.ts'
import type { CoinTape } from './recorded-tape.ts'

/** Books are kept as the text that they came in; longer recordings are read up to here. */
const KEPT_LENGTH_MAX = 400_000_000
/** Length of the prefix of a hash that identifies an order; fills of one order share it. */
const HASH_DIGITS = 8
const orderKey = noiseKey(0, 'recorded order')

/** A row of a frame, of which nothing is known. */
type Row = Readonly<Record<string, unknown>>

type Growing = {
  readonly snapshots: CoinTape['snapshots'][number][]
  /** By trade id: the venue repeats some after every subscription. */
  readonly trades: Map<number, Trade>
  sizeDecimals: number
}

/**
 * Books and trades of every coin that has both, out of the text frames that the venue sent, in the order
 * of their arrival. Other and damaged frames are left out.
 */
export function tapesOfFrames(texts: Iterable<string>): ReadonlyMap<string, CoinTape> {
  const growing = new Map<string, Growing>()
  let keptLength = 0
  for (const text of texts) {
    const { channel, data } = rowOf(text)
    if (channel === 'trades') for (const row of rowsOf(data)) addTrade(growing, row)
    if (channel !== 'l2Book' || !addBook(growing, text, data)) continue
    keptLength += text.length
    if (keptLength > KEPT_LENGTH_MAX) break
  }
  const beganMs = [...growing.values()]
    .flatMap(({ snapshots }) => snapshots)
    .reduce((earliestMs, { timeMs }) => Math.min(earliestMs, timeMs), Number.POSITIVE_INFINITY)
  const tapes = Array.from(growing, ([coin, tape]) => [coin, tapeFrom(tape, beganMs)] as const)
  return new Map(tapes.filter(([, { snapshots, trades }]) => snapshots[0] && trades[0]))
}

/** Without the trades that the venue repeated of the time before. */
function tapeFrom({ snapshots, trades, sizeDecimals }: Growing, beganMs: number): CoinTape {
  return {
    snapshots: snapshots.toSorted(byTime),
    trades: [...trades.values()].filter(({ timeMs }) => timeMs >= beganMs).toSorted(byTime),
    sizeDecimals,
  }
}

function addTrade(tapes: Map<string, Growing>, row: Row): void {
  const { coin, side, px, sz, time, hash, tid } = row
  const [price, sizeBase] = [Number(px), Number(sz)]
  if (typeof coin !== 'string' || typeof tid !== 'number' || typeof time !== 'number') return
  if ((side !== 'A' && side !== 'B') || !(price > 0) || !(sizeBase > 0)) return
  const tape = tapeOf(tapes, coin)
  tape.sizeDecimals = Math.max(tape.sizeDecimals, decimalsOf(String(sz)))
  const order = Number.parseInt(String(hash).slice(2, 2 + HASH_DIGITS), 16)
  tape.trades.set(tid, {
    id: tid,
    timeMs: time,
    side,
    price,
    sizeBase,
    orderKey: bits(orderKey, Number.isNaN(order) ? 0 : order),
  })
}

/** @returns false where it is no whole book. */
function addBook(tapes: Map<string, Growing>, text: string, data: unknown): boolean {
  const { coin, time, fast } = isRecord(data) ? data : {}
  if (typeof coin !== 'string' || typeof time !== 'number' || fast === true) return false
  const { bids, asks } = bookOf(data)
  if (bids[0] === undefined || asks[0] === undefined || bids[0].price >= asks[0].price) return false
  tapeOf(tapes, coin).snapshots.push({ timeMs: time, book: () => bookOf(rowOf(text)['data']) })
  return true
}

function tapeOf(tapes: Map<string, Growing>, coin: string): Growing {
  let tape = tapes.get(coin)
  if (tape === undefined) {
    tape = { snapshots: [], trades: new Map(), sizeDecimals: 0 }
    tapes.set(coin, tape)
  }
  return tape
}

function bookOf(data: unknown): Book {
  const levels: unknown = isRecord(data) ? data['levels'] : undefined
  const [bids, asks] = (Array.isArray(levels) ? levels : []).map(sideOf)
  return { bids: bids ?? [], asks: asks ?? [] }
}

function sideOf(rows: unknown): readonly Level[] {
  return rowsOf(rows).flatMap(({ px, sz, n }) => {
    const [price, sizeBase] = [Number(px), Number(sz)]
    return price > 0 && sizeBase > 0 ? [{ price, sizeBase, orders: Number(n) || 1 }] : []
  })
}

function rowOf(text: string): Row {
  const value = parsedJson(text)
  // It was recorded as it came, which may be broken.
  return isRecord(value) ? value : {}
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function decimalsOf(text: string): number {
  return text.includes('.') ? text.length - 1 - text.indexOf('.') : 0
}

function byTime(one: { readonly timeMs: number }, other: { readonly timeMs: number }): number {
  return one.timeMs - other.timeMs
}
