/** Why the venue itself made a trade. Only the first two are liquidations. */
export type Enforcement =
  /** A position below its maintenance margin was closed on the book. */
  | 'market'
  /** A position below two thirds of it was taken over by the liquidator vault. */
  | 'backstop'
  /** The vault sells what it took over. */
  | 'unwinding'
  /** A bankrupt position was closed against a winning one. */
  | 'deleveraging'
  /** The holder closed a position near its liquidation price itself. */
  | 'closing'

/** A trade that follows from positions, and not from the bars of the market. */
export type EnforcedTrade = {
  readonly id: number
  readonly timeMs: number
  readonly coin: string
  readonly enforcement: Enforcement
  /** What the taker did. */
  readonly side: 'B' | 'A'
  readonly taker: number
  readonly maker: number
  readonly lots: number
  readonly price: number
  readonly markPrice: number
  /** Positions before the trade, in lots; negative for a short. */
  readonly takerLots: number
  readonly makerLots: number
}

/** Kept for replies about past fills. */
const KEPT_MS = 48 * 3_600_000
/** Identifiers begin here, above those of other trades. */
const FIRST_ID = 2 ** 52
const IDS_A_SECOND = 256

/** The enforced trades of one coin, ascending. */
export class EnforcedTrades {
  #trades: EnforcedTrade[] = []

  add(trade: Omit<EnforcedTrade, 'id'>): void {
    const last = this.#trades.at(-1)
    const first = FIRST_ID + Math.floor(trade.timeMs / 1_000) * IDS_A_SECOND
    const id = last !== undefined && last.id >= first ? last.id + 1 : first
    this.#trades.push({ id, ...trade })
    const oldest = this.#trades[0]
    if (oldest !== undefined && oldest.timeMs < trade.timeMs - 2 * KEPT_MS)
      this.#trades = this.#trades.filter(({ timeMs }) => timeMs >= trade.timeMs - KEPT_MS)
  }

  /** After the first instant, up to and including the second. */
  between(afterMs: number, throughMs: number): readonly EnforcedTrade[] {
    let from = this.#trades.length
    while (from > 0 && (this.#trades[from - 1] as EnforcedTrade).timeMs > afterMs) from--
    return this.#trades.slice(from).filter(({ timeMs }) => timeMs <= throughMs)
  }
}
