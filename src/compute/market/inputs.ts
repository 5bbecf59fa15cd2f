import type { Input } from '../../domain/document.ts'
import type { ContextEvent } from '../../domain/event.ts'
import type { Timeframe } from '../../domain/timeframe.ts'
import { BOOK_CADENCE_MS, CONTEXT_CADENCE_MS } from './cadence.ts'
import type { CoinMarket } from './coin-market.ts'

/** Inputs of answers, each with its last confirmation by the venue. */

export function candlesInput(coin: CoinMarket, timeframe: Timeframe): Input {
  return input(`candles_${timeframe}`, coin.candlesConfirmedAtMs, CONTEXT_CADENCE_MS)
}

export function markInput(coin: CoinMarket): Input {
  return input('mark', coin.priceConfirmedAtMs, CONTEXT_CADENCE_MS)
}

/** `name` is the part of the context that the analysis uses: `funding`, `open_interest`, `impact`. */
export function contextInput(name: string, context: ContextEvent): Input {
  return input(name, context.timeReceivedMs, CONTEXT_CADENCE_MS)
}

export function bookInput(confirmedAtMs: number): Input {
  return input('book', confirmedAtMs, BOOK_CADENCE_MS)
}

/** Without it the answer stays useful. */
export function optional(given: Input): Input {
  return { ...given, isLoadBearing: false }
}

function input(name: string, confirmedAtMs: number, cadenceMs: number): Input {
  return { name, confirmedAtMs, cadenceMs, isLoadBearing: true }
}
