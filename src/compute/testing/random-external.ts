import type { MarketEvent } from '../../domain/event.ts'
import { chains, exchanges, oracleNetworks } from '../../domain/external.ts'
import { exchangeQuote, oraclePrice, poolOf } from './external-events.ts'
import { context } from './tape.ts'

/** Random events about one asset and the stablecoins, in order of arrival: some are late, wrong or missing. */
export function randomExternalEvents(
  seed: number,
  of: {
    readonly coin: string
    readonly asset: string
    readonly scale: number
    readonly nowMs: number
  },
): readonly MarketEvent[] {
  const chance = chanceOf(seed)
  const unitUsd = (100 + chance()) / of.scale
  const isOften = (share: number) => chance() < share
  const near = (usd: number, bps: number) => usd * (1 + ((chance() - 0.5) * 2 * bps) / 10_000)
  /** Mostly right, at times far off. */
  const said = (usd: number) => {
    const honest = near(usd, 8)
    if (isOften(0.06)) return honest * 1_000
    return isOften(0.12) ? near(usd, 900) : honest
  }
  const tape: MarketEvent[] = []
  const agoMs = (spanMs: number) => of.nowMs - Math.floor(chance() ** 2 * spanMs)

  for (const stablecoin of ['USDT', 'USDC'] as const) {
    const usd = isOften(0.2) ? 0.97 : 1
    for (const exchange of ['kraken', 'coinbase'] as const)
      if (isOften(0.7)) tape.push(exchangeQuote(exchange, stablecoin, near(usd, 3), agoMs(90_000)))
    if (isOften(0.5))
      tape.push(
        oraclePrice('chainlink', stablecoin, near(usd, 20), agoMs(4e7), {
          confidenceUsd: null,
          ema: null,
          resolutionBps: 25,
          heartbeatMs: 8.64e7,
        }),
      )
    if (isOften(0.4)) tape.push(oraclePrice('pyth-hermes', stablecoin, near(usd, 2), agoMs(2e5)))
  }
  for (const network of oracleNetworks)
    for (const place of network === 'chainlink' ? ['ethereum', 'base'] : ['']) {
      if (isOften(0.35)) continue
      const priceUsd = said(unitUsd)
      const isStream = network === 'pyth-hermes' || network === 'redstone'
      const confidenceUsd = network === 'chainlink' ? null : priceUsd * (isOften(0.1) ? 0.02 : 4e-4)
      tape.push(
        oraclePrice(network, of.asset, priceUsd, agoMs(isStream ? 2e5 : 4e6), {
          place,
          confidenceUsd,
          ema: isStream ? { priceUsd, confidenceUsd: priceUsd * 4e-4 } : null,
          resolutionBps: isStream ? 0 : 10 * Math.ceil(5 * chance()),
          heartbeatMs: isStream ? 1_000 : 60_000 * Math.ceil(60 * chance()),
        }),
      )
    }
  for (const exchange of exchanges)
    for (const quote of ['USD', 'USDT', 'USDC'] as const) {
      if (isOften(0.5)) continue
      const timeMs = agoMs(7_000)
      const changes = isOften(0.1) ? { bid: unitUsd * (1 + 0.04 * (chance() - 0.5)) } : {}
      const lag = isOften(0.2) ? { timeExchangeMs: timeMs - Math.floor(9_000 * chance()) } : {}
      const event = exchangeQuote(exchange, of.asset, said(unitUsd), timeMs, { quote })
      tape.push({ ...event, ...changes, ...lag })
    }
  for (const [at, chain] of chains.entries())
    if (isOften(0.25))
      tape.push(
        poolOf(of.asset, said(unitUsd), agoMs(90_000), {
          chain,
          pool: `0x${at}`,
          feeBps: 30 * chance(),
          reserveQuote: 1e8 * chance() ** 4,
        }),
      )
  if (isOften(0.95)) {
    const oraclePriceOfCoin = near(unitUsd * of.scale, 60)
    tape.push(
      context(of.coin, {
        oraclePrice: oraclePriceOfCoin,
        markPrice: near(oraclePriceOfCoin, 20),
        timeExchangeMs: of.nowMs - 1_000,
        timeReceivedMs: of.nowMs - Math.floor(3_000 * chance()),
      }),
    )
  }
  return tape
}

/** Numbers from 0 to below 1: a linear congruential generator (Numerical Recipes). */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
