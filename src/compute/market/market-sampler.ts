import type { ContextEvent, MarketEvent } from '../../domain/event.ts'
import { isOfThePast } from '../../domain/event.ts'
import type { FundingRow, MarketSample } from '../../domain/history.ts'
import { FUNDING_STEP_MS, SAMPLE_STEP_MS } from '../../domain/history.ts'
import { LISTINGS_MAX } from '../../domain/listing.ts'
import { spreadBpsOf } from '../book/best-quote.ts'
import { BOOK_CADENCE_MS, CONTEXT_CADENCE_MS } from './cadence.ts'
import type { CoinMarket } from './coin-market.ts'
import { EventGrid } from './event-grid.ts'
import type { MarketState } from './market-state.ts'

const BPS = 10_000

/**
 * The estimate of a settlement is read this long before the hour: the clocks differ by seconds, and the first estimate
 * of the next hour must not be taken for the last of this one.
 */
const FUNDING_LEAD_MS = 10_000

/** Minutes kept until they are taken, which happens every few seconds. */
const MINUTES_HELD_MAX = 8
const SAMPLES_MAX = MINUTES_HELD_MAX * LISTINGS_MAX
const FUNDINGS_MAX = 2 * LISTINGS_MAX

type Samples = {
  readonly samples: readonly MarketSample[]
  readonly fundings: readonly FundingRow[]
  /** Number of older rows that were dropped because nothing took them in time. */
  readonly dropped: number
}

/**
 * Samples every coin's figures at each whole minute of the venue's time, and its funding shortly before each hour.
 * Figures that are older than their cadence are left out: a gap is better than a repeated old value.
 */
export class MarketSampler {
  readonly #minutes = new EventGrid(SAMPLE_STEP_MS)
  readonly #settlements = new EventGrid(FUNDING_STEP_MS, FUNDING_LEAD_MS)
  #samples: MarketSample[] = []
  #fundings: FundingRow[] = []
  #dropped = 0

  /** Call with the first event of a batch, before the batch is applied to the market. */
  observe(event: MarketEvent, market: MarketState): void {
    if (isOfThePast(event)) return
    const minuteMs = this.#minutes.passed(event.timeExchangeMs)
    if (!Number.isNaN(minuteMs)) {
      for (const coin of market.coins()) {
        const sample = sampleOf(coin, minuteMs)
        if (sample === null) continue
        this.#samples.push(sample)
        coin.sample(sample)
      }
      this.#dropped += cut(this.#samples, SAMPLES_MAX)
    }
    const readAtMs = this.#settlements.passed(event.timeExchangeMs)
    if (!Number.isNaN(readAtMs)) {
      for (const coin of market.coins()) {
        const estimate = estimateOf(coin, readAtMs)
        if (estimate === null) continue
        this.#fundings.push(estimate)
        coin.estimate(estimate)
      }
      this.#dropped += cut(this.#fundings, FUNDINGS_MAX)
    }
  }

  /** Rows that were read since the last call, in order. */
  take(): Samples {
    const taken = { samples: this.#samples, fundings: this.#fundings, dropped: this.#dropped }
    this.#samples = []
    this.#fundings = []
    this.#dropped = 0
    return taken
  }
}

function sampleOf(coin: CoinMarket, timeMs: number): MarketSample | null {
  const context = freshContext(coin, timeMs)
  if (context === null) return null
  const { markPrice, oraclePrice, openInterestBase, dayNotional } = context
  const { quote } = coin
  // Quotes carry receive time only.
  const ourTimeMs = timeMs + (context.timeReceivedMs - context.timeExchangeMs)
  const isFresh = quote !== null && isWithin(BOOK_CADENCE_MS, quote.confirmedAtMs, ourTimeMs)
  return {
    coin: coin.listing.coin,
    timeMs,
    markPrice,
    oraclePrice,
    openInterestBase,
    dayNotional,
    fundingRateHourly: context.fundingRateHourly,
    premium: context.premium,
    spreadBps: isFresh ? spreadBpsOf(quote) : null,
    impactSpreadBps: impactSpreadBpsOf(context),
  }
}

/** The settled rate comes with the venue's funding history; this is the estimate until then. */
function estimateOf(coin: CoinMarket, timeMs: number): FundingRow | null {
  const context = freshContext(coin, timeMs)
  if (context === null) return null
  return {
    coin: coin.listing.coin,
    timeMs: timeMs + FUNDING_LEAD_MS,
    rateHourly: context.fundingRateHourly,
    premium: null,
    isSettled: false,
  }
}

function freshContext({ context }: CoinMarket, timeMs: number): ContextEvent | null {
  if (context === null) return null
  return isWithin(CONTEXT_CADENCE_MS, context.timeExchangeMs, timeMs) ? context : null
}

/** A time after the instant means that the clock was set back in between. */
function isWithin(cadenceMs: number, heardMs: number, timeMs: number): boolean {
  return heardMs <= timeMs && timeMs - heardMs <= cadenceMs
}

/** (impact ask - impact bid) / mid, all of one context. */
function impactSpreadBpsOf({ impactBid, impactAsk, midPrice }: ContextEvent): number | null {
  if (impactBid === null || impactAsk === null || midPrice === null) return null
  return ((impactAsk - impactBid) / midPrice) * BPS
}

/** Shortens a list to its last rows. @returns the number of removed rows */
function cut(rows: unknown[], rowsMax: number): number {
  return rows.splice(0, Math.max(0, rows.length - rowsMax)).length
}
