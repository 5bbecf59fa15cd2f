import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Chain, OracleNetwork, SourceId } from '../../domain/external.ts'
import { assetOf, exchanges, oracleNetworks } from '../../domain/external.ts'
import type { Market } from '../market/market.ts'
import { drift, gaussian, noiseKey } from '../market/noise.ts'
import type { ScenarioEvent } from './scenario.ts'
import { isActive } from './scenario.ts'

const BPS = 1e-4
const NOISE_STEP_MS = 1_000
const STABLE_DRIFT_MS = 1_800_000
const MINUTE_MS = 60_000
/** A moving average of about an hour, from samples every ten minutes. */
const AVERAGE = { stepMs: 600_000, steps: 6, memoryMs: 2_400_000 }
/** Feeds of all networks, twice. */
const AVERAGES_MAX = 1_024

/**
 * Observation noise by kind of source, bps: the standard deviation of an independent draw per second. No
 * measure that is computed from the sources can be more precise.
 */
export const noiseBps = {
  exchange: 0.4,
  oracle: 0.2,
  chain: 0.4,
  /** Full width of the band in which USDC and USDT move without events. */
  stablecoin: 1.5,
} as const

/** Confidence interval of an oracle network without events. */
export const CONFIDENCE_BPS = 2.5

const STABLECOINS = ['USDC', 'USDT'] as const
type Stablecoin = (typeof STABLECOINS)[number]

/**
 * The simulated market truth: the price of every asset at any time, and what each source observes of it,
 * with noise and with the events of a scenario. Everything is a function of seed, scenario and time, so that
 * all sources, the venue and repeated runs agree.
 *
 * The venue's oracle is a median of USDT prices. The USD price of an asset is therefore the oracle price
 * times USDT in USD, less the `basis` events.
 */
export class ReferencePrices {
  readonly seed: number
  readonly scenario: readonly ScenarioEvent[]
  readonly #market: Market
  readonly #averages = new BoundedMap<string, number>(AVERAGES_MAX)
  readonly #oraclePrices = new Map<string, { second: number; price: number | undefined }>()
  readonly #coinOf: ReadonlyMap<string, { readonly coin: string; readonly scale: number }>

  constructor(options: {
    readonly market: Market
    readonly seed: number
    readonly scenario?: readonly ScenarioEvent[]
  }) {
    const { market, seed, scenario = [] } = options
    this.#market = market
    this.seed = seed
    this.scenario = scenario
    const coinOf = new Map<string, { coin: string; scale: number }>()
    for (const { coin, isDelisted } of market.universe()) {
      const made = assetOf(coin)
      if (!isDelisted && made !== null) coinOf.set(made.asset, { coin, scale: made.scale })
    }
    this.#coinOf = coinOf
  }

  /** All assets with a price, stablecoins last. */
  get assets(): readonly string[] {
    return [...this.#coinOf.keys(), ...STABLECOINS]
  }

  /** USD price of one unit; undefined for an asset that does not trade. */
  priceUsd(asset: string, atMs: number): number | undefined {
    if (isStablecoin(asset)) return this.#stableUsd(asset, atMs)
    const made = this.#coinOf.get(asset)
    const oraclePrice = made && this.#oraclePrice(made.coin, atMs)
    if (made === undefined || oraclePrice === undefined) return undefined
    const basis = this.#during('basis', atMs).filter(({ asset: of }) => of === asset)
    const oracleUsdt = oraclePrice / made.scale
    return oracleUsdt * this.#stableUsd('USDT', atMs) * (1 - sumBps(basis) * BPS)
  }

  /** The price that a source observes: the reference price with its noise and the events of the source. */
  seenUsd(source: SourceId, asset: string, atMs: number): number | undefined {
    const seenMs = this.seenMs(source, atMs)
    const priceUsd = this.priceUsd(asset, seenMs)
    if (priceUsd === undefined) return undefined
    const offsets = this.#during('offset', atMs).filter(
      (event) => event.source === source && (event.asset ?? asset) === asset,
    )
    const noise = this.#noise(`${source} ${asset}`, seenMs, noiseOf(source))
    return priceUsd * (1 + (sumBps(offsets) + noise) * BPS)
  }

  /** The time of the prices that a source publishes: the start of a `frozen` or `halted` event while it lasts. */
  seenMs(source: SourceId, atMs: number): number {
    const isOfSource = (event: { readonly source: SourceId }) => event.source === source
    const since = this.#first('frozen', atMs, isOfSource) ?? this.#first('halted', atMs, isOfSource)
    return since?.fromMs ?? atMs
  }

  /** The moving average of the prices that a source observes, as of the minute. */
  averageUsd(source: SourceId, asset: string, atMs: number): number | undefined {
    const minute = Math.floor(atMs / MINUTE_MS)
    const key = `${source} ${asset} ${minute}`
    const known = this.#averages.get(key)
    if (known !== undefined) return known
    let [sum, weights] = [0, 0]
    for (let step = 0; step <= AVERAGE.steps; step += 1) {
      const ageMs = step * AVERAGE.stepMs
      const usd = this.seenUsd(source, asset, minute * MINUTE_MS - ageMs)
      if (usd === undefined) continue
      const weight = Math.exp(-ageMs / AVERAGE.memoryMs)
      sum += weight * usd
      weights += weight
    }
    if (weights === 0) return undefined
    this.#averages.set(key, sum / weights)
    return sum / weights
  }

  /** The price that a chain observes, with its `gap` events. */
  seenOnChainUsd(chain: Chain, asset: string, atMs: number): number | undefined {
    const seen = this.seenUsd(chain, asset, atMs)
    const gaps = this.#during('gap', atMs).filter(
      (gap) => gap.chain === chain && gap.asset === asset,
    )
    return seen === undefined ? undefined : seen * Math.exp(sumBps(gaps) * BPS)
  }

  /** The price of the quote token of a pool, without noise and gaps, so that those count once per pool. */
  quoteOnChainUsd(chain: Chain, asset: string, atMs: number): number | undefined {
    return this.priceUsd(asset, this.seenMs(chain, atMs))
  }

  /** The confidence interval that a network publishes, bps of the price. */
  confidenceBps(network: OracleNetwork, asset: string, atMs: number): number {
    const blown = this.#first('confidence', atMs, (event) => event.network === network)
    const calm = isStablecoin(asset) ? CONFIDENCE_BPS / 2 : CONFIDENCE_BPS
    return calm * (blown?.factor ?? 1)
  }

  /** Whether the source refuses connections and requests. */
  isDead(source: SourceId, atMs: number): boolean {
    return this.#first('dead', atMs, (event) => event.source === source) !== undefined
  }

  /** Whether the source sends nothing; a chain still returns its last block. */
  isStalled(source: SourceId, atMs: number): boolean {
    return this.#stalled(source, atMs) !== undefined
  }

  /** The time of the newest data of a source: now, or the start of a `stalled` or `halted` event. */
  newestMs(source: SourceId, atMs: number): number {
    const halted = this.#first('halted', atMs, (event) => event.source === source)
    return (this.#stalled(source, atMs) ?? halted)?.fromMs ?? atMs
  }

  /** As of the second, because a context holds a whole book and many sources read the same second. */
  #oraclePrice(coin: string, atMs: number): number | undefined {
    const second = Math.floor(atMs / 1_000)
    const known = this.#oraclePrices.get(coin)
    if (known?.second === second) return known.price
    const price = this.#market.context(coin, second * 1_000)?.oraclePrice
    this.#oraclePrices.set(coin, { second, price })
    return price
  }

  #stalled(source: SourceId, atMs: number) {
    return this.#first('stalled', atMs, (event) => event.source === source)
  }

  /** The factor of spreads and gas prices in a `crash` event; otherwise 1. */
  stress(atMs: number): number {
    return this.#first('crash', atMs, () => true)?.factor ?? 1
  }

  #stableUsd(stablecoin: Stablecoin, atMs: number): number {
    const key = noiseKey(this.seed, 'outside', stablecoin)
    const wanderBps = (noiseBps.stablecoin / 2) * drift(key, atMs / STABLE_DRIFT_MS)
    const depegs = this.#during('depeg', atMs).filter(({ asset }) => asset === stablecoin)
    return 1 + (wanderBps + sumBps(depegs)) * BPS
  }

  #noise(name: string, atMs: number, deviationBps: number): number {
    const key = noiseKey(this.seed, 'noise', name)
    return deviationBps * gaussian(key, Math.floor(atMs / NOISE_STEP_MS))
  }

  #first<Kind extends ScenarioEvent['kind']>(
    kind: Kind,
    atMs: number,
    matches: (event: Of<Kind>) => boolean,
  ): Of<Kind> | undefined {
    return this.#during(kind, atMs).find(matches)
  }

  #during<Kind extends ScenarioEvent['kind']>(kind: Kind, atMs: number): readonly Of<Kind>[] {
    return this.scenario.filter(
      (event): event is Of<Kind> => event.kind === kind && isActive(event, atMs),
    )
  }
}

type Of<Kind extends ScenarioEvent['kind']> = Extract<ScenarioEvent, { kind: Kind }>

function sumBps(scenario: readonly { readonly bps: number }[]): number {
  return scenario.reduce((sum, { bps }) => sum + bps, 0)
}

function isStablecoin(asset: string): asset is Stablecoin {
  return (STABLECOINS as readonly string[]).includes(asset)
}

function noiseOf(source: SourceId): number {
  if ((exchanges as readonly SourceId[]).includes(source)) return noiseBps.exchange
  return (oracleNetworks as readonly SourceId[]).includes(source) ? noiseBps.oracle : noiseBps.chain
}
