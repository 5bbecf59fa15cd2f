import { systemClock } from '../src/roles/system-clock.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { limitsFor, venueLimits } from '../src/simulator/venue/limits.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'

/**
 * The simulated venue with any number of coins, until its parent ends: the traded coins of the catalogue, repeated under
 * other names. Argument: the number of coins. Sends the URL of its REST API.
 */
const SEED = 11
/** With this factor the model trades as the venue does, some 300 frames of trades and candles a second for 228 coins. */
const NOTIONAL_TIMES = 2_000
/** Of trades and candles; the venue sends some of its blocks only. */
const BLOCK_MS = 250
/** Addresses whose limits are allowed, because one address permits 1,000 subscriptions. */
const ADDRESSES = 16

const count = Number(process.argv[2])
const startMs = systemClock.nowMs()
const model = modelCoins(SEED, startMs)
const traded = catalog.filter(([, , , , , , isDelisted]) => isDelisted !== true)
const coins = Array.from({ length: count }, (_, at) => {
  const [coin, decimals, table, price, notional, interest] = traded[at % traded.length] ?? []
  const copy = Math.floor(at / traded.length)
  if (coin === undefined || decimals === undefined || table === undefined) throw new Error('empty')
  return model.ofCatalog([
    ...([copy === 0 ? coin : `${coin}X${copy}`, decimals, table] as const),
    ...([price ?? 1, (notional ?? 1) * NOTIONAL_TIMES, interest ?? 1] as const),
  ])
})
const market = new CoinMarkets({ clockShiftMs: 0, coins, newCoin: model.ofListing })
const world = new ReferencePrices({ market, seed: SEED, scenario: [] })
const venue = await startSimulatedVenue({
  ...{ market, clock: systemClock, port: 0 },
  external: new SimulatedSources(world, systemClock),
  limits: { ...limitsFor(ADDRESSES, venueLimits), restWeightPerMinute: 1e9 },
  cadences: { blockMs: BLOCK_MS },
})
process.on('disconnect', () => process.exit())
process.send?.({ http: venue.httpUrl })
