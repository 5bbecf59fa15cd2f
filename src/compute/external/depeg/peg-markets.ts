import type { Chain, ExchangeQuoteEvent } from '../../../domain/external.ts'
import { chains, tradableQuote } from '../../../domain/external.ts'
import type { ExternalState } from '../../market/external-state.ts'
import type { PegClass } from './peg-price.ts'
import { deviationBpsOf } from './peg-price.ts'
import type { PegSourceFault, UnweightedPegSource } from './peg-source.ts'
import { faultOfPrice } from './peg-source.ts'

/** USDC in USDT by the deepest pool of a chain. */
export type ChainParity = { readonly chain: Chain; readonly usdcUsdtBps: number }

/** A market of USDC against USDT in a pool; its price is in USDT. */
type PegPool = { readonly source: UnweightedPegSource; readonly depthQuote: number }

const QUOTE_MS_MAX = 5_000
/** Exchanges send changes only: a quote stays valid for this time while its connection is alive. */
const STANDING_MS_MAX = 60_000
const SPREAD_BPS_MAX = 200
const POOL_MS_MAX = 60_000
const POOL_CADENCE_MS = 15_000
const POOL_QUOTE_MIN = 250_000

/** @param heardMs last message of the exchange; NaN for none since it was connected */
export function quoteSource(
  quote: ExchangeQuoteEvent,
  name: PegClass,
  heardMs: number,
  nowMs: number,
): UnweightedPegSource {
  const { exchange, bid, ask, timeReceivedMs } = quote
  const priceUsd = (bid + ask) / 2
  const spreadBps = ((ask - bid) / priceUsd) * 10_000
  const isStanding = nowMs - heardMs <= QUOTE_MS_MAX && nowMs - timeReceivedMs <= STANDING_MS_MAX
  const confirmedAtMs = isStanding ? Math.max(heardMs, timeReceivedMs) : timeReceivedMs
  return {
    id: `${exchange}:${quote.asset}/${quote.quote}`,
    class: name,
    provider: exchange,
    priceUsd,
    confidenceBps: spreadBps / 2,
    resolutionBps: 0,
    unseenBps: 0,
    expectedErrorBps: null,
    confirmedAtMs,
    receivedAtMs: timeReceivedMs,
    cadenceMs: QUOTE_MS_MAX,
    ageMsMax: QUOTE_MS_MAX,
    fault:
      faultOfPrice(priceUsd) ??
      faultOfBook(bid, ask, spreadBps) ??
      (nowMs - confirmedAtMs > QUOTE_MS_MAX ? 'too_old' : null),
  }
}

/** Pools of USDC and USDT on all chains, priced in USDT. */
export function poolSources(external: ExternalState, nowMs: number): UnweightedPegSource[] {
  return chains.flatMap((chain) => poolsOf(chain, external, nowMs).map(({ source }) => source))
}

/** One for each chain with a pool that is deep and fresh enough. */
export function chainParities(external: ExternalState, nowMs: number): ChainParity[] {
  return chains.flatMap((chain) => {
    const [deepest] = poolsOf(chain, external, nowMs)
      .filter(({ source }) => source.fault === null)
      .sort((one, other) => other.depthQuote - one.depthQuote)
    if (deepest === undefined) return []
    return { chain, usdcUsdtBps: deviationBpsOf(deepest.source.priceUsd) }
  })
}

function poolsOf(chain: Chain, external: ExternalState, nowMs: number): PegPool[] {
  return external.poolsOf(chain).flatMap((pool) => {
    const { asset, quote, dex, price, feeBps, timeReceivedMs } = pool
    const depthQuote = tradableQuote(pool)
    const isInverse = asset === 'USDT' && quote === 'USDC'
    if (!isInverse && !(asset === 'USDC' && quote === 'USDT')) return []
    const confirmedAtMs = Math.min(pool.timeExchangeMs, timeReceivedMs)
    const priceUsdt = isInverse ? 1 / price : price
    const source: UnweightedPegSource = {
      id: `${chain}:${dex}`,
      class: 'cross',
      provider: chain,
      priceUsd: priceUsdt,
      // Arbitrage does not remove a difference below the fee.
      confidenceBps: feeBps,
      resolutionBps: 0,
      unseenBps: 0,
      expectedErrorBps: null,
      confirmedAtMs,
      receivedAtMs: timeReceivedMs,
      cadenceMs: POOL_CADENCE_MS,
      ageMsMax: POOL_MS_MAX,
      fault: faultOfPool(priceUsdt, depthQuote, nowMs - confirmedAtMs),
    }
    return { source, depthQuote }
  })
}

function faultOfPool(price: number, depthQuote: number, ageMs: number): PegSourceFault | null {
  const fault = faultOfPrice(price)
  if (fault !== null) return fault
  if (!(depthQuote >= POOL_QUOTE_MIN)) return 'thin_pool'
  return ageMs > POOL_MS_MAX ? 'too_old' : null
}

function faultOfBook(bid: number, ask: number, spreadBps: number): PegSourceFault | null {
  if (!(bid > 0 && ask >= bid)) return 'crossed_book'
  return spreadBps > SPREAD_BPS_MAX ? 'wide_spread' : null
}
