import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Observable } from 'rxjs'
import { analyses } from '../compute/analyses/registry.ts'
import { undated } from '../compute/market/coin-market.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../compute/processor.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Clock } from '../domain/clock.ts'
import type { DexSelection, DexStatus } from '../domain/dex.ts'
import type { Document } from '../domain/document.ts'
import { WHOLE_MARKET } from '../domain/document.ts'
import type { Batch, MarketEvent } from '../domain/event.ts'
import { assetOf } from '../domain/external.ts'
import type { StoreHealth } from '../domain/history.ts'
import { tradableOf } from '../domain/listing.ts'
import type { EngineMessage, FeedHealth } from '../link/message.ts'
import type { CheckpointDb, CheckpointRow } from '../store/checkpoint-db.ts'
import { ROWS_PER_SLICE } from '../store/checkpoint-db.ts'
import { CheckpointStore } from '../store/checkpoint-store.ts'
import { memoryOf } from '../store/history-memory.ts'
import type { HistoryNotice } from '../store/history-store.ts'
import { HistoryStore } from '../store/history-store.ts'
import type { FileSync } from '../store/wal-copy.ts'
import type { SourceContext } from '../streams/external/source.ts'
import { hyperliquidFeed } from '../streams/hyperliquid/feed.ts'
import { dexOf, MAIN_DEX } from '../streams/hyperliquid/wire/universe.ts'
import type { Runtime } from '../streams/runtime.ts'
import { DocumentKeeper } from './document-keeper.ts'
import type { ExternalAddresses } from './external-source.ts'
import { MarketDocuments } from './market-documents.ts'
import type { MarketRenderer } from './market-renderer.ts'
import { recallMeasures } from './measure-recall.ts'
import { NoticeBook } from './notice-book.ts'
import type { RecordingOptions } from './recorder.ts'
import type { Recorder } from './recording.ts'
import { SlicedWork } from './sliced-work.ts'

export type EngineOptions = {
  readonly venue: { readonly wsUrl: string; readonly infoUrl: string }
  readonly weightPerMinute: number
  /** Which builder-deployed dexes are followed. */
  readonly dexes: DexSelection
  /** Between two judgements of which dexes are worth following; a day where absent. */
  readonly dexPeriodMs?: number
  /** Where sources beyond the venue are reached. */
  readonly external?: ExternalAddresses
  readonly dataDir: string
  readonly version: string
  readonly logLevel: string
  /** The one before ended a moment ago. */
  readonly isRestart?: boolean
  /** Our clock was moved since: nobody knows how old what was saved is. */
  readonly isClockNew?: boolean
  /** Where everything that happens is recorded; for whoever starts the engine. */
  readonly recording?: RecordingOptions | undefined
}

export type RunningEngine = {
  /** How the history on disk is. */
  storeHealth(): StoreHealth
  /** Saves a last checkpoint and lets go of everything. */
  stop(): void
}

const HEARTBEAT_PERIOD_MS = 1_000
const CHECKPOINT_PERIOD_MS = 10_000
const SLICE_GAP_MS = 20
const SOCKETS = 4
const DOCUMENTS_PER_MESSAGE = 100

/** Clock, random numbers, external sources and files of one engine. */
export type EngineWorld = {
  readonly clock: Clock
  readonly runtime: Runtime
  /** Sources beyond the venue; without them, answers that need them are not sold. */
  readonly external?: (context: SourceContext) => Observable<Batch>
  /** How to wait for the disk; without it, the engine waits. */
  readonly fileSync?: FileSync
  /** Closed with the engine. */
  readonly renderer: MarketRenderer
  /** Hears everything that the documents depend on. */
  readonly recorder?: Recorder | undefined
}

/** Wires venue → processor → gateway. What it learns survives it in the checkpoint. */
export function startEngine(
  options: EngineOptions,
  { clock, runtime, external, fileSync, renderer, recorder }: EngineWorld,
  send: (message: EngineMessage) => void,
  log: Logger,
): RunningEngine {
  const startedAtMs = clock.nowMs()
  const checkpointStore = new CheckpointStore(
    {
      path: join(options.dataDir, 'engine.db'),
      onSetAside: (setAside, reason) =>
        log.error({ setAside, reason }, 'checkpoint has been set aside'),
      sync: fileSync,
    },
    startedAtMs,
  )
  const loaded = checkpointStore.load()
  const saved = loaded === null ? null : followedOnly(loaded, options.dexes)
  const checkpoint =
    saved !== null && options.isClockNew === true ? undatedCheckpoint(saved) : saved
  const keeper = new DocumentKeeper(options, clock, fileSync, log)
  // What was answered before is answered again before anything else is done.
  if (checkpoint !== null) {
    const { listings } = checkpoint
    send({ kind: 'universe', listings })
    for (const documents of grouped(keeper.remembered(tradableOf(listings))))
      send({ kind: 'documents', documents })
  }
  const tell = (documents: readonly Document[]) => {
    if (documents.length > 0) send({ kind: 'documents', documents })
    keeper.add(documents)
  }

  const history = new HistoryStore(
    {
      path: join(options.dataDir, 'history.db'),
      onNotice: (notice) => logHistory(log, notice),
      ...(fileSync && { sync: fileSync }),
    },
    startedAtMs,
  )
  const processor = new Processor(analyses, options.version)
  recorder?.started({ version: options.version, sockets: SOCKETS, checkpoint }, startedAtMs)
  if (checkpoint !== null) {
    processor.restore(checkpoint, startedAtMs)
    log.info({ coins: checkpoint.coins.size }, 'restored from checkpoint')
  }

  const marketDocuments = new MarketDocuments({
    processor,
    renderer,
    recorder,
    nowMs: () => clock.nowMs(),
    publish: (document) => tell([document]),
    log,
  })
  const publish = () => {
    const nowMs = clock.nowMs()
    const documents = [...processor.publish(nowMs)]
    recorder?.published(documents, nowMs)
    tell(documents)
    marketDocuments.tick()
  }
  // What the checkpoint knows is answered before anything else is done.
  if (checkpoint !== null) publish()

  /** Why the last checkpoint is not on disk, and since when; null where it is. */
  let missing: { readonly reason: string; readonly sinceMs: number } | null = null
  const storeHealth = (): StoreHealth => {
    const { health } = history
    if (health.state === 'degraded' || missing === null) return health
    return { ...health, ...missing, state: 'degraded' }
  }
  const notices = new NoticeBook(log)
  let venueAheadMs: number | undefined
  let dexes: readonly DexStatus[] = []
  const feed = hyperliquidFeed(
    {
      ...options.venue,
      weightPerMinute: options.weightPerMinute,
      sockets: SOCKETS,
      isRestart: options.isRestart ?? false,
      historyOf: (coin, nowMs) => processor.historyOf(coin, nowMs),
      auditOf: (coin) => processor.auditOf(coin),
      hourlyOf: (coin, nowMs) => processor.hourlyFromMs(coin, nowMs),
      loadHistory: (coin, series, nowMs) => memoryOf(history, coin, series, nowMs),
      known: processor.listings,
      tradesKnownUntilMs: (coin) => processor.tradesUntilMs(coin),
      dexes: options.dexes,
      ...(options.dexPeriodMs !== undefined && { dexPeriodMs: options.dexPeriodMs }),
      onDexes: (statuses) => {
        dexes = statuses
      },
      onFeedEvent: (notice) => notices.take(notice, clock.nowMs()),
      ...(recorder && { onArrival: recorder.arrived }),
    },
    runtime,
  ).subscribe((batch) => {
    processor.process(batch)
    for (const event of batch) {
      if (event.kind === 'book') venueAheadMs = event.timeExchangeMs - event.timeReceivedMs
      if (event.kind === 'universe') {
        send({ kind: 'universe', listings: event.listings })
        keeper.list(tradableOf(event.listings))
      }
      if (event.kind === 'feed-status')
        log[event.state === 'up' ? 'info' : 'warn'](
          { state: event.state, reason: event.reason },
          'feed',
        )
      remember(event, history)
    }
  })

  const processExternal = (batch: Batch) => {
    recorder?.heardExternal(batch, clock.nowMs())
    processor.process(batch)
  }
  const stopRecall = recallMeasures(history, clock, (event) => processExternal([event]))
  const externalFeed = external?.({
    assets: () => assetsOf(processor),
    onNotice: (notice) => notices.take({ ...notice, feed: 'outside' }, clock.nowMs()),
  }).subscribe(processExternal)

  const stopPublishing = clock.every(PUBLISH_PERIOD_MS / PUBLISH_PHASES, publish)
  const beat = () =>
    send({
      kind: 'heartbeat',
      heartbeat: {
        startedAtMs,
        feeds: feedHealth(processor, startedAtMs),
        sources: processor.sources.map(({ source, state, reason, timeReceivedMs }) => ({
          source,
          state,
          reason,
          sinceMs: timeReceivedMs,
        })),
        dexes,
        store: storeHealth(),
        counts: notices.counts,
        ...(venueAheadMs !== undefined && { venueAheadMs }),
      },
    })
  beat()
  const stopHeartbeat = clock.every(HEARTBEAT_PERIOD_MS, beat)

  const checkpoints = new SlicedWork(clock, SLICE_GAP_MS, {
    *begin() {
      yield* checkpointStore.write(
        (db) => writes(processor, history, db, clock),
        () => clock.nowMs(),
      )
      missing = null
    },
    onFailed: (cause) => {
      const reason = `checkpoint: ${cause instanceof Error ? cause.message : String(cause)}`
      missing = { reason, sinceMs: missing?.sinceMs ?? clock.nowMs() }
      log.error({ err: cause }, 'checkpoint not written; the engine goes on from memory')
    },
  })
  // At once, so that the versions of this run are above those of any before, however short that was.
  checkpoints.run()
  const stopCheckpoints = clock.every(CHECKPOINT_PERIOD_MS, () => checkpoints.run())
  return {
    storeHealth,
    stop() {
      for (const stop of [stopRecall, stopPublishing, stopHeartbeat, stopCheckpoints]) stop()
      checkpoints.stop()
      marketDocuments.stop()
      renderer.close()
      feed.unsubscribe()
      externalFeed?.unsubscribe()
      keeper.stop()
      // A disk that refuses one of them may take the other.
      const lastly = (what: string, task: () => void) => {
        try {
          task()
        } catch (cause) {
          log.error({ err: cause }, `the last ${what} is not saved`)
        }
      }
      lastly('history', () => {
        history.add(processor.takeHistory())
        history.close(clock.nowMs())
      })
      // The last to go: whoever gets its lock gets all of them.
      lastly('checkpoint', () => {
        const nowMs = clock.nowMs()
        checkpointStore.close(processor.checkpoint(nowMs), nowMs)
      })
    },
  }
}

/**
 * History first: a bar that a checkpoint knows is not asked for again, so a checkpoint on disk must not
 * know of one that history lacks. So rows are built together with the history of the same instant, and
 * wait for it to be written; some at a time, so that nothing holds the engine.
 */
function* writes(
  processor: Processor,
  history: HistoryStore,
  db: CheckpointDb,
  clock: Clock,
): Generator<unknown> {
  // Before a checkpoint is begun: a disk that refuses that one must not keep history from it.
  history.add(processor.takeHistory())
  yield* history.write(clock.nowMs())
  yield* db.begin(processor)
  const names = processor.savedNames()
  for (let at = 0; at < names.length; at += ROWS_PER_SLICE) {
    const nowMs = clock.nowMs()
    history.add(processor.takeHistory())
    const rows = names.slice(at, at + ROWS_PER_SLICE).flatMap((name): CheckpointRow[] => {
      const saved = processor.saved(name, nowMs)
      return saved === null ? [] : [[name, saved]]
    })
    yield* history.write(nowMs)
    yield* db.put(rows)
  }
  // Without a list of coins nobody knows which of them are gone.
  if (processor.tradable.length > 0) yield* db.retain(new Set(processor.savedNames()))
  yield* history.tidy(clock.nowMs())
}

/** What the venue tells of the past is kept; what our own history told, it has. */
function remember(event: MarketEvent, history: HistoryStore): void {
  if (event.kind === 'funding-history' && !event.isRemembered) history.addFundings(event.rows)
  if (event.kind === 'hourly-history' && !event.isRemembered)
    history.addBars(event.coin, '1h', event.bars)
}

/** A dex that is not followed any more would stay listed for good: nobody tells of it. */
function followedOnly(checkpoint: Checkpoint, dexes: EngineOptions['dexes']): Checkpoint {
  // Those that a rule chose before stay until it judges again.
  if (dexes === 'all' || dexes === 'auto') return checkpoint
  const followed = new Set([MAIN_DEX, ...dexes])
  const listings = checkpoint.listings.filter(({ coin }) => followed.has(dexOf(coin)))
  const gone = checkpoint.listings.filter((listing) => !listings.includes(listing))
  const coins = new Map(checkpoint.coins)
  for (const { coin } of gone) coins.delete(coin)
  return { ...checkpoint, listings, coins }
}

/** So that the gateway takes in the first of them while the others are read. */
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

function undatedCheckpoint(checkpoint: Checkpoint): Checkpoint {
  const coins = new Map(checkpoint.coins)
  for (const [coin, saved] of coins) if (coin !== WHOLE_MARKET) coins.set(coin, undated(saved))
  return { ...checkpoint, coins }
}

function logHistory(log: Logger, notice: HistoryNotice): void {
  const isGood = notice.kind === 'recovered' || notice.kind === 'salvaged'
  log[isGood ? 'info' : 'error'](notice, 'history')
}

function feedHealth(processor: Processor, startedAtMs: number): readonly FeedHealth[] {
  const status = processor.feed
  return [
    {
      feed: 'venue',
      state: status?.state ?? 'down',
      sinceMs: status?.timeReceivedMs ?? startedAtMs,
      reason: status?.reason ?? 'not connected yet',
    },
  ]
}

/** Assets of the perpetuals that the venue lists. */
function assetsOf(processor: Processor): readonly string[] {
  const assets = processor.tradable.map((coin) => assetOf(coin)?.asset)
  return [...new Set(assets.filter((asset) => asset !== undefined))]
}
