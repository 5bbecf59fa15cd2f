import type { Chain, OracleNetwork, SourceId } from '../../domain/external.ts'
import { assetOf } from '../../domain/external.ts'
import type { Market } from '../market/market.ts'
import { drift, gaussian, noiseKey } from '../market/noise.ts'
import type { Happening } from './happening.ts'
import { isDuring } from './happening.ts'

const BPS = 1e-4
/** Independent draws of noise come so often. */
const NOISE_STEP_MS = 1_000
const STABLE_DRIFT_MS = 1_800_000

/**
 * How far each kind of observer is from the truth, in bps: one standard deviation of an independent draw a
 * second. Whatever is measured from observations can be no better than this.
 */
export const noiseBps = {
  exchange: 0.4,
  oracle: 0.2,
  chain: 0.4,
  /** The whole band in which USDC and USDT wander while nothing happens. */
  stablecoin: 1.5,
} as const

/** Of an asset, so large that an honest network is that unsure. */
export const CONFIDENCE_BPS = 2.5

/** Prices of these are in no relation to the venue's coins. */
const STABLECOINS = ['USDC', 'USDT'] as const
type Stablecoin = (typeof STABLECOINS)[number]

/**
 * The truth behind everything that is simulated outside of the venue, and what each source makes of it.
 * One seed and one list of happenings move all sources and the venue together. Everything is a function of
 * the instant, so that two readers, and two runs, agree.
 *
 * The venue's oracle is a median of exchanges' USDT prices. So an asset is worth, in USD, what the venue's
 * oracle says, times USDT in USD, less what a `basis` happening plants between the two.
 */
export class World {
  readonly seed: number
  readonly happenings: readonly Happening[]
  readonly #market: Market
  readonly #oraclePrices = new Map<string, { second: number; price: number | undefined }>()
  readonly #coinOf: ReadonlyMap<string, { readonly coin: string; readonly scale: number }>

  constructor(options: {
    readonly market: Market
    readonly seed: number
    readonly happenings?: readonly Happening[]
  }) {
    const { market, seed, happenings = [] } = options
    this.#market = market
    this.seed = seed
    this.happenings = happenings
    const coinOf = new Map<string, { coin: string; scale: number }>()
    for (const { coin, isDelisted } of market.universe()) {
      const made = assetOf(coin)
      if (!isDelisted && made !== null) coinOf.set(made.asset, { coin, scale: made.scale })
    }
    this.#coinOf = coinOf
  }

  /** Everything that has a price, stablecoins last. */
  get assets(): readonly string[] {
    return [...this.#coinOf.keys(), ...STABLECOINS]
  }

  /** What one unit of an asset is worth in USD; undefined for what does not trade. */
  priceUsd(asset: string, atMs: number): number | undefined {
    if (isStablecoin(asset)) return this.#stableUsd(asset, atMs)
    const made = this.#coinOf.get(asset)
    const oraclePrice = made && this.#oraclePrice(made.coin, atMs)
    if (made === undefined || oraclePrice === undefined) return undefined
    const planted = this.#during('basis', atMs).filter(({ asset: of }) => of === asset)
    const oracleUsdt = oraclePrice / made.scale
    return oracleUsdt * this.#stableUsd('USDT', atMs) * (1 - sumBps(planted) * BPS)
  }

  /**
   * What a source believes an asset to be worth in USD, at an instant: the truth, its own noise, and whatever
   * happens to it. A source that is frozen believes what it believed when that began.
   */
  seenUsd(source: SourceId, asset: string, atMs: number): number | undefined {
    const frozen = this.#first('frozen', atMs, (happening) => happening.source === source)
    const seenMs = frozen?.fromMs ?? atMs
    const truth = this.priceUsd(asset, seenMs)
    if (truth === undefined) return undefined
    const lies = this.#during('offset', atMs).filter(
      (lie) => lie.source === source && (lie.asset ?? asset) === asset,
    )
    const noise = this.#noise(`${source} ${asset}`, seenMs, noiseOf(source))
    return truth * (1 + (sumBps(lies) + noise) * BPS)
  }

  /** The same on a chain, where a gap can be planted. */
  seenOnChainUsd(chain: Chain, asset: string, atMs: number): number | undefined {
    const seen = this.seenUsd(chain, asset, atMs)
    const gaps = this.#during('gap', atMs).filter(
      (gap) => gap.chain === chain && gap.asset === asset,
    )
    return seen === undefined ? undefined : seen * Math.exp(sumBps(gaps) * BPS)
  }

  /** What a chain counts in is worth what it is worth: only one side of a pool is off, so that a gap shows once. */
  quoteOnChainUsd(chain: Chain, asset: string, atMs: number): number | undefined {
    const frozen = this.#first('frozen', atMs, ({ source }) => source === chain)
    return this.priceUsd(asset, frozen?.fromMs ?? atMs)
  }

  /** What a network says about how sure it is, bps of the price. */
  confidenceBps(network: OracleNetwork, asset: string, atMs: number): number {
    const blown = this.#first('confidence', atMs, (happening) => happening.network === network)
    const calm = isStablecoin(asset) ? CONFIDENCE_BPS / 2 : CONFIDENCE_BPS
    return calm * (blown?.factor ?? 1)
  }

  /** Refuses connections and requests. */
  isDead(source: SourceId, atMs: number): boolean {
    return this.#first('dead', atMs, (happening) => happening.source === source) !== undefined
  }

  /** Keeps its connections and sends nothing; a chain keeps answering with its last block. */
  isStalled(source: SourceId, atMs: number): boolean {
    return this.#stalled(source, atMs) !== undefined
  }

  /** The newest instant that a source knows of: now, or when it stalled. */
  newestMs(source: SourceId, atMs: number): number {
    return this.#stalled(source, atMs)?.fromMs ?? atMs
  }

  /** As of the second: a dozen sources ask the same within it, and a context holds a whole book. */
  #oraclePrice(coin: string, atMs: number): number | undefined {
    const second = Math.floor(atMs / 1_000)
    const known = this.#oraclePrices.get(coin)
    if (known?.second === second) return known.price
    const price = this.#market.context(coin, second * 1_000)?.oraclePrice
    this.#oraclePrices.set(coin, { second, price })
    return price
  }

  #stalled(source: SourceId, atMs: number) {
    return this.#first('stalled', atMs, (happening) => happening.source === source)
  }

  /** What a half spread or a gas price is multiplied with: 1 while nothing happens. */
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

  #first<Kind extends Happening['kind']>(
    kind: Kind,
    atMs: number,
    isMeant: (happening: Of<Kind>) => boolean,
  ): Of<Kind> | undefined {
    return this.#during(kind, atMs).find(isMeant)
  }

  #during<Kind extends Happening['kind']>(kind: Kind, atMs: number): readonly Of<Kind>[] {
    return this.happenings.filter(
      (happening): happening is Of<Kind> => happening.kind === kind && isDuring(happening, atMs),
    )
  }
}

type Of<Kind extends Happening['kind']> = Extract<Happening, { kind: Kind }>

function sumBps(happenings: readonly { readonly bps: number }[]): number {
  return happenings.reduce((sum, { bps }) => sum + bps, 0)
}

function isStablecoin(asset: string): asset is Stablecoin {
  return (STABLECOINS as readonly string[]).includes(asset)
}

const exchangeNames: ReadonlySet<SourceId> = new Set([
  'coinbase',
  'kraken',
  'binance',
  'okx',
  'bybit',
])
const oracleNames: ReadonlySet<SourceId> = new Set([
  'pyth-hermes',
  'pyth-solana',
  'pyth-evm',
  'chainlink',
  'redstone',
])

function noiseOf(source: SourceId): number {
  if (exchangeNames.has(source)) return noiseBps.exchange
  return oracleNames.has(source) ? noiseBps.oracle : noiseBps.chain
}
