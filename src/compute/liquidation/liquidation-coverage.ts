import type { MarketEvent } from '../../domain/event.ts'
import type { MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import { REALISED_MS } from './realised-liquidations.ts'

const LAYOUT = 7_201
const HEADER_FIELDS = 2
/** Times of the market-wide source in between which it was lost; the oldest is removed first. */
const SPANS_MAX = 64
const SPAN_FIELDS = 2
/** The source states its coverage some seconds late; a lost one is noticed after 90 s. */
const STATED_LATE_MS_MAX = 120_000

/** Which part of the market's liquidations the sources can show. */
class LiquidationCoverage implements MarketTracker {
  readonly inputs = ['liquidator-vaults', 'liquidation-feed'] as const
  /** Number of liquidator vaults whose trades are followed. */
  #vaults = 0
  /** Start and end of each time without a loss of the market-wide source, ascending. */
  #spans: number[] = []

  apply(event: MarketEvent): void {
    if (event.kind === 'liquidator-vaults') this.#vaults = event.accounts.length
    else if (event.kind === 'liquidation-feed') this.#add(event.fromMs, event.untilMs)
  }

  advance(): void {}

  /** `marketShare`: of the last day, as far as the source has stated. @param venueMs by the venue's clock */
  at(venueMs: number): { readonly vaults: number; readonly marketShare: number } {
    const untilMs = this.isCurrent(venueMs) ? Math.min(venueMs, this.#statedMs) : venueMs
    return { vaults: this.#vaults, marketShare: this.marketShare(untilMs - REALISED_MS, untilMs) }
  }

  /** Whether the market-wide source covers the present. @param venueMs by the venue's clock */
  isCurrent(venueMs: number): boolean {
    return venueMs - this.#statedMs <= STATED_LATE_MS_MAX
  }

  /** Share of a time in which the market-wide source missed nothing, 0 to 1; 0 before the venue's clock is known. */
  marketShare(fromMs: number, untilMs: number): number {
    let coveredMs = 0
    for (let at = 0; at < this.#spans.length; at += SPAN_FIELDS) {
      const [start, end] = [this.#spans[at] as number, this.#spans[at + 1] as number]
      coveredMs += Math.max(0, Math.min(end, untilMs) - Math.max(start, fromMs))
    }
    return untilMs > fromMs ? coveredMs / (untilMs - fromMs) : 0
  }

  save(): Float64Array {
    return joinSections([[LAYOUT, this.#vaults], this.#spans])
  }

  restore(saved: Float64Array): boolean {
    const [header, spans, ...others] = splitSections(saved) ?? []
    if (header?.[0] !== LAYOUT || header.length !== HEADER_FIELDS || !spans || others.length > 0)
      return false
    if (spans.length % SPAN_FIELDS !== 0) return false
    this.#vaults = header[1] as number
    this.#spans = [...spans]
    return true
  }

  get #statedMs(): number {
    return this.#spans.at(-1) ?? Number.NaN
  }

  #add(fromMs: number, untilMs: number): void {
    // A connection states an empty span first, which must not take the place of an older one.
    if (!(untilMs > fromMs)) return
    const last = this.#spans.length - 1
    if (last > 0 && fromMs <= (this.#spans[last] as number))
      this.#spans[last] = Math.max(this.#spans[last] as number, untilMs)
    else this.#spans.push(fromMs, untilMs)
    if (this.#spans.length > SPANS_MAX * SPAN_FIELDS) this.#spans.splice(0, SPAN_FIELDS)
  }
}

export const liquidationCoverage = marketTracker(
  'market/liquidation-coverage',
  () => new LiquidationCoverage(),
)
