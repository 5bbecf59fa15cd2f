import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Observable } from 'rxjs'
import { documentKinds } from '../compute/analyses/registry.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../compute/processor.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Clock } from '../domain/clock.ts'
import type { DexSelection, DexStatus } from '../domain/dex.ts'
import type { Document } from '../domain/document.ts'
import type { Batch, MarketEvent } from '../domain/event.ts'
import type { SourceId } from '../domain/external.ts'
import { assetOf, isExternal, sourceOf } from '../domain/external.ts'
import type { StoreHealth } from '../domain/history.ts'
import { tradableOf } from '../domain/listing.ts'
import type { PackedDocument } from '../domain/packed-document.ts'
import { packDocument } from '../domain/packed-document.ts'
import type { DocumentMemory, PlacedDocument } from '../domain/placed-document.ts'
import type { EngineMessage, FeedHealth, Heartbeat } from '../link/message.ts'
import { CheckpointStore } from '../store/checkpoint-store.ts'
import { HistoryStore } from '../store/history-store.ts'
import { storedSeries } from '../store/stored-series.ts'
import type { WalCheckpointer } from '../store/wal-checkpoint.ts'
import type { SourceContext } from '../streams/external/source.ts'
import { KNOWN_LIQUIDATORS } from '../streams/hyperliquid/backfill/vault-refresh.ts'
import { hyperliquidFeed } from '../streams/hyperliquid/feed.ts'
import type { Drop } from '../streams/hyperliquid/wire/rejection.ts'
import { liquidationFeed } from '../streams/liquidations/liquidation-feed.ts'
import type { Runtime } from '../streams/runtime.ts'
import { Checkpoints } from './checkpoints.ts'
import { DocumentKeeper } from './document-keeper.ts'
import { FeedLog } from './feed-log.ts'
import { MarketDocuments } from './market-documents.ts'
import type { MarketRenderer } from './market-renderer.ts'
import { loadMeasures } from './measure-history.ts'
import type { Recorder } from './recording.ts'
import { usableCheckpoint } from './usable-checkpoint.ts'

export type VenueUrls = { readonly wsUrl: string; readonly infoUrl: string }

export type EngineOptions = {
  readonly venue: VenueUrls
  readonly weightPerMinute: number
  /** Of the venue's limit for one address; all of them if absent. */
  readonly subscriptionsMax?: number
  /** Which builder-deployed dexes are followed. */
  readonly dexes: DexSelection
  /** Interval at which `auto` selects dexes again; a day if absent. */
  readonly dexPeriodMs?: number
  /** Liquidator vaults of the venue; those of its vault details if absent. */
  readonly liquidatorVaults?: readonly string[]
  /** Source of all liquidations of the venue; none if absent. */
  readonly liquidationFeedUrl?: string
  readonly dataDir: string
  /** Of history, beyond what analyses read. */
  readonly historyDays?: number
  readonly version: string
  /** The previous engine of this process ended shortly before. */
  readonly isRestart?: boolean
  /** The clock was set since the checkpoint was saved, so the age of its data is unknown. */
  readonly isClockNew?: boolean
}

/** Clock, network, disk and log of an engine. */
export type EnginePlatform = {
  readonly clock: Clock
  readonly runtime: Runtime
  /** Sources other than the venue; without them, analyses that need them are not sold. */
  readonly external?: (context: SourceContext) => Observable<Batch>
  /** Runs WAL checkpoints on another thread; without it, SQLite runs them on the engine's. */
  readonly checkpointer?: WalCheckpointer
  /** Closed together with the engine. */
  readonly renderer: MarketRenderer
  /** Receives every input on which the documents depend. */
  readonly recorder?: Recorder | undefined
  /** Shared with the gateway of another thread; without it, messages carry the bytes of documents. */
  readonly memory?: DocumentMemory
  readonly log: Logger
}

type Send = (message: EngineMessage) => void

const HEARTBEAT_PERIOD_MS = 1_000
const SOCKETS = 4
const DOCUMENTS_PER_MESSAGE = 100

/** Connects feed, processor, gateway and disk. Its state survives in the checkpoint. */
export class Engine {
  readonly #options: EngineOptions
  readonly #platform: EnginePlatform
  readonly #send: Send
  readonly #startedAtMs: number
  readonly #processor: Processor
  readonly #marketDocuments: MarketDocuments
  readonly #keeper: DocumentKeeper
  readonly #history: HistoryStore
  readonly #checkpoints: Checkpoints
  readonly #feedLog: FeedLog
  readonly #cancels: (() => void)[] = []
  /** Liquidator vaults, as configured or as the venue names them. */
  #vaults: ReadonlySet<string>
  #dexes: readonly DexStatus[] = []
  #coinsLeftOut = 0
  #venueAheadMs: number | undefined
  /** Receive time of the newest book, and of the newest data of each external source. */
  #venueNewestMs: number | undefined
  readonly #sourceNewestMs = new Map<SourceId, number>()

  /** Sends the kept documents before it returns. */
  static start(options: EngineOptions, platform: EnginePlatform, send: Send): Engine {
    const engine = new Engine(options, platform, send)
    engine.#start()
    return engine
  }

  private constructor(options: EngineOptions, platform: EnginePlatform, send: Send) {
    const { dataDir, historyDays, version } = options
    const { clock, checkpointer, renderer, recorder, log } = platform
    const nowMs = clock.nowMs()
    this.#options = options
    this.#platform = platform
    this.#send = send
    this.#startedAtMs = nowMs
    this.#vaults = new Set(options.liquidatorVaults ?? KNOWN_LIQUIDATORS)
    const store = new CheckpointStore(
      {
        path: join(dataDir, 'engine.db'),
        onSetAside: (setAside, reason) =>
          log.error({ setAside, reason }, 'checkpoint has been set aside'),
        checkpointer,
      },
      nowMs,
    )
    const saved = store.load()
    const checkpoint = saved === null ? null : usableCheckpoint(saved, options)
    this.#keeper = new DocumentKeeper(options, clock, checkpointer, log)
    if (checkpoint !== null) this.#sendKept(checkpoint)
    this.#processor = new Processor(documentKinds, version)
    this.#history = new HistoryStore(
      {
        path: join(dataDir, 'history.db'),
        ...(historyDays !== undefined && { days: historyDays }),
        onNotice: (notice) => {
          log[notice.kind === 'recovered' ? 'info' : 'error'](notice, 'history')
        },
        checkpointer,
        claims: this.#processor.records.unstoredClaims,
      },
      nowMs,
    )
    recorder?.started({ version, sockets: SOCKETS, checkpoint }, nowMs)
    this.#marketDocuments = new MarketDocuments({
      ...{ processor: this.#processor, renderer, recorder, log },
      nowMs: () => clock.nowMs(),
      publish: (document) => this.#deliver([document]),
    })
    if (checkpoint !== null) {
      this.#processor.restore(checkpoint, nowMs)
      log.info({ coins: checkpoint.coins.size }, 'restored from checkpoint')
      this.#publish()
    }
    this.#feedLog = new FeedLog(log)
    this.#checkpoints = new Checkpoints({
      ...{ processor: this.#processor, store, history: this.#history, clock, log },
    })
  }

  storeHealth(): StoreHealth {
    const { health } = this.#history
    const { fault } = this.#checkpoints
    if (health.state === 'degraded' || fault === null) return health
    return { ...health, ...fault, state: 'degraded' }
  }

  /** Saves a last checkpoint and closes connections and files. */
  stop(): void {
    for (const cancel of this.#cancels) cancel()
    this.#checkpoints.stop()
    this.#marketDocuments.stop()
    this.#platform.renderer.close()
    this.#keeper.stop()
    this.#checkpoints.close()
  }

  #start(): void {
    const { clock } = this.#platform
    this.#subscribe()
    this.#cancels.push(
      clock.every(PUBLISH_PERIOD_MS / PUBLISH_PHASES, () => this.#publish()),
      clock.every(HEARTBEAT_PERIOD_MS, () => this.#beat()),
    )
    this.#beat()
    this.#checkpoints.start()
  }

  /** The documents of the previous engine, before anything is computed. */
  #sendKept({ listings }: Checkpoint): void {
    this.#send({ kind: 'universe', listings })
    for (const documents of grouped(this.#keeper.kept(tradableOf(listings)))) {
      // A document that cannot be cloned must not end every start of the engine.
      try {
        this.#send({ kind: 'documents', documents: this.#placed(documents) })
      } catch (err) {
        const keys = documents.map(({ key }) => key)
        this.#platform.log.error({ err, keys }, 'documents of the previous run cannot be sent')
      }
    }
  }

  #publish(): void {
    const nowMs = this.#platform.clock.nowMs()
    const documents = [...this.#processor.publish(nowMs)]
    this.#platform.recorder?.published(documents, nowMs)
    this.#deliver(documents)
    this.#marketDocuments.tick()
  }

  #deliver(documents: readonly Document[]): void {
    if (documents.length === 0) return
    const placed = this.#placed(documents)
    this.#send({ kind: 'documents', documents: placed })
    this.#keeper.add(placed)
  }

  #placed(documents: readonly Document[]): readonly (PackedDocument | PlacedDocument)[] {
    const packed = documents.map(packDocument)
    return this.#platform.memory?.place(packed) ?? packed
  }

  #subscribe(): void {
    const { clock, external } = this.#platform
    const feed = this.#venueFeed().subscribe((batch) => this.#takeVenue(batch))
    const cancelMeasures = loadMeasures(this.#history, clock, (event) =>
      this.#takeExternal([event]),
    )
    const sources = external?.({
      assets: () => assetsOf(this.#processor.view.tradable),
      onNotice: (notice) => this.#feedLog.add({ ...notice, feed: 'outside' }, clock.nowMs()),
    }).subscribe((batch) => this.#takeExternal(batch))
    const liquidations = this.#liquidationFeed()?.subscribe((batch) => this.#takeExternal(batch))
    this.#cancels.push(
      () => feed.unsubscribe(),
      cancelMeasures,
      () => liquidations?.unsubscribe(),
      () => sources?.unsubscribe(),
    )
  }

  #venueFeed(): Observable<Batch> {
    const { venue, weightPerMinute, isRestart = false, dexes } = this.#options
    const { dexPeriodMs, liquidatorVaults, subscriptionsMax } = this.#options
    const { clock, runtime, recorder } = this.#platform
    const { view } = this.#processor
    return hyperliquidFeed(
      {
        ...{ ...venue, weightPerMinute, isRestart, dexes, sockets: SOCKETS },
        historyOf: (coin, nowMs) => view.missingBars(coin, nowMs),
        auditOf: (coin) => view.barsToAudit(coin),
        fillsToRead: (venueMs, isDeferred) => view.fillsToRead(venueMs, isDeferred),
        hourlyOf: (coin, nowMs) => view.missingHoursFromMs(coin, nowMs),
        loadHistory: (coin, series, nowMs) => storedSeries(this.#history, coin, series, nowMs),
        known: view.listings,
        knownTrades: (coin) => view.knownTrades(coin),
        ...(dexPeriodMs !== undefined && { dexPeriodMs }),
        ...(subscriptionsMax !== undefined && { subscriptionsMax }),
        ...(liquidatorVaults && { vaults: liquidatorVaults }),
        onDexes: (statuses) => {
          this.#dexes = statuses
        },
        onFeedEvent: (event) => {
          if (event.kind === 'left-out') this.#coinsLeftOut = event.count
          this.#feedLog.add(event, clock.nowMs())
        },
        ...(recorder && { onArrival: recorder.arrived }),
      },
      runtime,
    )
  }

  #liquidationFeed(): Observable<Batch> | null {
    const { liquidationFeedUrl: url } = this.#options
    const { clock, log, runtime } = this.#platform
    if (url === undefined) return null
    const isVault = (account: string) => this.#vaults.has(account)
    const onFailure = (reason: string) => log.warn({ reason }, 'liquidation feed; reconnecting')
    const figuresOf = (coin: string) => this.#processor.view.reportedFigures(coin)
    const onDrop = (drop: Drop) =>
      this.#feedLog.add({ kind: 'liquidation-dropped', ...drop }, clock.nowMs())
    return liquidationFeed({ url, isVault, figuresOf, onDrop, onFailure }, runtime)
  }

  #takeVenue(batch: Batch): void {
    this.#processor.process(batch)
    for (const event of batch) this.#note(event)
  }

  #takeExternal(batch: Batch): void {
    const nowMs = this.#platform.clock.nowMs()
    this.#platform.recorder?.externalReceived(batch, nowMs)
    this.#processor.process(batch)
    for (const event of batch) {
      const source = isExternal(event) ? sourceOf(event) : null
      if (source === null) continue
      // A halted chain is not the lag of all chains of a source.
      const knownMs = Math.min(this.#sourceNewestMs.get(source) ?? 0, nowMs)
      this.#sourceNewestMs.set(source, Math.max(knownMs, event.timeReceivedMs))
    }
  }

  /** Effects of a venue event other than on the market state. */
  #note(event: MarketEvent): void {
    switch (event.kind) {
      case 'liquidator-vaults':
        this.#vaults = new Set(event.accounts)
        break
      case 'book':
        this.#venueAheadMs = event.timeExchangeMs - event.timeReceivedMs
        this.#venueNewestMs = event.timeReceivedMs
        break
      case 'universe':
        this.#send({ kind: 'universe', listings: event.listings })
        this.#keeper.list(tradableOf(event.listings))
        this.#platform.memory?.retain(new Set(tradableOf(event.listings)))
        break
      case 'feed-status': {
        const { state, reason } = event
        this.#platform.log[state === 'up' ? 'info' : 'warn']({ state, reason }, 'feed')
        break
      }
      case 'funding-history':
        if (!event.isRemembered) this.#history.addFundings(event.rows)
        break
      case 'hourly-history':
        if (!event.isRemembered) this.#history.addBars(event.coin, event.bars)
        break
      default:
    }
  }

  #beat(): void {
    this.#send({ kind: 'heartbeat', heartbeat: this.#heartbeat() })
  }

  #heartbeat(): Heartbeat {
    return {
      startedAtMs: this.#startedAtMs,
      feeds: [this.#feedHealth()],
      sources: this.#processor.view.sources.map(({ source, state, reason, timeReceivedMs }) => {
        const newestMs = this.#sourceNewestMs.get(source)
        return {
          ...{ source, state, reason, sinceMs: timeReceivedMs },
          ...(newestMs !== undefined && { newestMs }),
        }
      }),
      ...(this.#coinsLeftOut > 0 && { coinsLeftOut: this.#coinsLeftOut }),
      dexes: this.#dexes,
      store: this.storeHealth(),
      counts: this.#feedLog.counts,
      ...(this.#venueAheadMs !== undefined && { venueAheadMs: this.#venueAheadMs }),
    }
  }

  #feedHealth(): FeedHealth {
    const status = this.#processor.view.feed
    return {
      feed: 'venue',
      state: status?.state ?? 'down',
      sinceMs: status?.timeReceivedMs ?? this.#startedAtMs,
      reason: status?.reason ?? 'not connected yet',
      ...(this.#venueNewestMs !== undefined && { newestMs: this.#venueNewestMs }),
    }
  }
}

/** In groups, so that the gateway can apply the first while the others are read. */
function* grouped(documents: Iterable<Document>): Generator<readonly Document[]> {
  let group: Document[] = []
  for (const document of documents) {
    group.push(document)
    if (group.length < DOCUMENTS_PER_MESSAGE) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

/** Plain tickers of the coins that the venue trades, as other sources spell them. */
function assetsOf(tradable: readonly string[]): readonly string[] {
  const assets = tradable.map((coin) => assetOf(coin)?.asset)
  return [...new Set(assets.filter((asset) => asset !== undefined))]
}
