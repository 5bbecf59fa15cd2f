import type {
  Chain,
  ChainEvent,
  Exchange,
  ExchangeQuoteEvent,
  ExternalEvent,
  FearGreedEvent,
  OraclePriceEvent,
  PoolEvent,
  SourceId,
  SourceStatusEvent,
  StablecoinSupplyEvent,
} from '../../domain/external.ts'

/** Bound on feeds of one asset and on pools of one chain; no real source has so many. */
const PER_NAME_MAX = 64
const NAMES_MAX = 1_024

/**
 * The newest event of each kind of every external source. It judges nothing: readers decide what is too old or wrong.
 */
export class ExternalState {
  readonly #oracles = new Map<string, Map<string, OraclePriceEvent>>()
  readonly #quotes = new Map<string, Map<string, ExchangeQuoteEvent>>()
  readonly #pools = new Map<Chain, Map<string, PoolEvent>>()
  /** Assets with a pool on any chain. */
  readonly #pooledAssets = new Set<string>()
  readonly #chains = new Map<Chain, ChainEvent>()
  readonly #sources = new Map<SourceId, SourceStatusEvent>()
  #fearGreed: FearGreedEvent | null = null
  readonly #supplies = new Map<string, StablecoinSupplyEvent>()

  /** Newest price of each feed of an asset, unordered. */
  oraclesOf(asset: string): readonly OraclePriceEvent[] {
    return [...(this.#oracles.get(asset)?.values() ?? [])]
  }

  /** Newest quote of an asset by each exchange and quote currency, unordered. */
  quotesOf(asset: string): readonly ExchangeQuoteEvent[] {
    return [...(this.#quotes.get(asset)?.values() ?? [])]
  }

  quote(
    exchange: Exchange,
    asset: string,
    quote: ExchangeQuoteEvent['quote'],
  ): ExchangeQuoteEvent | null {
    return this.#quotes.get(asset)?.get(`${exchange} ${quote}`) ?? null
  }

  /** Newest state of every pool of a chain, unordered. */
  poolsOf(chain: Chain): readonly PoolEvent[] {
    return [...(this.#pools.get(chain)?.values() ?? [])]
  }

  hasPool(asset: string): boolean {
    return this.#pooledAssets.has(asset)
  }

  chain(chain: Chain): ChainEvent | null {
    return this.#chains.get(chain) ?? null
  }

  source(source: SourceId): SourceStatusEvent | null {
    return this.#sources.get(source) ?? null
  }

  /** Last status of each source that sent one. */
  sources(): readonly SourceStatusEvent[] {
    return [...this.#sources.values()]
  }

  get fearGreed(): FearGreedEvent | null {
    return this.#fearGreed
  }

  supplyOf(asset: string): StablecoinSupplyEvent | null {
    return this.#supplies.get(asset) ?? null
  }

  apply(event: ExternalEvent): void {
    switch (event.kind) {
      case 'oracle-price':
        keep(this.#oracles, event.asset, `${event.network} ${event.place}`, event)
        break
      case 'exchange-quote':
        keep(this.#quotes, event.asset, `${event.exchange} ${event.quote}`, event)
        break
      case 'pool':
        keep(this.#pools, event.chain, event.pool, event)
        if (this.#pooledAssets.size < NAMES_MAX) this.#pooledAssets.add(event.asset)
        break
      case 'chain':
        this.#chains.set(event.chain, event)
        break
      case 'fear-greed':
        this.#fearGreed = event
        break
      case 'stablecoin-supply':
        this.#supplies.set(event.asset, event)
        break
      case 'source-status':
        this.#sources.set(event.source, event)
        break
      case 'measure-history':
        break
      default:
        event satisfies never
    }
  }
}

function keep<
  Name,
  Event extends { readonly timeExchangeMs: number; readonly timeReceivedMs: number },
>(byName: Map<Name, Map<string, Event>>, name: Name, key: string, event: Event): void {
  let events = byName.get(name)
  if (events === undefined) {
    if (byName.size >= NAMES_MAX) return
    events = new Map()
    byName.set(name, events)
  }
  const before = events.get(key)
  if (before === undefined && events.size >= PER_NAME_MAX) return
  // A mirror or a slow reply may be older than the known event. A time in the future is not trusted.
  const knownMs = Math.min(before?.timeExchangeMs ?? 0, event.timeReceivedMs)
  if (event.timeExchangeMs < knownMs) return
  events.set(key, event)
}
