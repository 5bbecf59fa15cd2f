import { join } from 'node:path'
import type { Logger } from 'pino'
import { analyses } from '../compute/analyses/registry.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../compute/processor.ts'
import type { Clock } from '../domain/clock.ts'
import type { StoreHealth } from '../domain/history.ts'
import type { EngineMessage, FeedHealth } from '../link/message.ts'
import { CheckpointDb } from '../store/checkpoint-db.ts'
import type { HistoryNotice } from '../store/history-store.ts'
import { HistoryStore } from '../store/history-store.ts'
import type { Runtime } from '../streams/runtime.ts'
import { hyperliquidFeed } from '../streams/venues/hyperliquid/feed.ts'
import { MarketDocuments } from './market-documents.ts'
import type { MarketRenderer } from './market-renderer.ts'
import { NoticeBook } from './notice-book.ts'
import type { RecordingOptions } from './recorder.ts'
import type { Recorder } from './recording.ts'

export type EngineOptions = {
  readonly venue: { readonly wsUrl: string; readonly infoUrl: string }
  readonly weightPerMinute: number
  /** Dexes beside the venue's own that are followed, or all. */
  readonly dexes: readonly string[] | 'all'
  readonly dataDir: string
  readonly version: string
  readonly logLevel: string
  /** The one before ended a moment ago. */
  readonly isRestart?: boolean
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
const CHECKPOINT_SLICE_GAP_MS = 20
const SOCKETS = 4

/** Time, chance and the outside world, as the engine may touch them. */
export type EngineWorld = {
  readonly clock: Clock
  readonly runtime: Runtime
  /** Closed with the engine. */
  readonly renderer: MarketRenderer
  /** Hears everything that the documents depend on. */
  readonly recorder?: Recorder | undefined
}

/** Wires venue → processor → gateway. What it learns survives it in the checkpoint. */
export function startEngine(
  options: EngineOptions,
  { clock, runtime, renderer, recorder }: EngineWorld,
  send: (message: EngineMessage) => void,
  log: Logger,
): RunningEngine {
  const startedAtMs = clock.nowMs()
  const { db, setAside, reason } = CheckpointDb.open(
    join(options.dataDir, 'engine.db'),
    startedAtMs,
  )
  if (setAside !== null) log.error({ setAside, reason }, 'checkpoint has been set aside')
  const history = new HistoryStore(
    {
      path: join(options.dataDir, 'history.db'),
      onNotice: (notice) => logHistory(log, notice),
    },
    startedAtMs,
  )

  const processor = new Processor(analyses, options.version)
  const checkpoint = db.load()
  recorder?.started({ version: options.version, sockets: SOCKETS, checkpoint }, startedAtMs)
  if (checkpoint !== null) {
    processor.restore(checkpoint, startedAtMs)
    send({ kind: 'universe', listings: processor.listings })
    log.info({ coins: checkpoint.coins.size }, 'restored from checkpoint')
  }

  const notices = new NoticeBook(log)
  const feed = hyperliquidFeed(
    {
      ...options.venue,
      weightPerMinute: options.weightPerMinute,
      sockets: SOCKETS,
      isRestart: options.isRestart ?? false,
      historyOf: (coin, nowMs) => processor.historyOf(coin, nowMs),
      auditOf: (coin) => processor.auditOf(coin),
      dexes: options.dexes,
      onNotice: (notice) => notices.take(notice, clock.nowMs()),
      ...(recorder && { onArrival: recorder.arrived }),
    },
    runtime,
  ).subscribe((batch) => {
    processor.process(batch)
    for (const event of batch) {
      if (event.kind === 'universe') send({ kind: 'universe', listings: event.listings })
      if (event.kind === 'feed-status')
        log.warn({ state: event.state, reason: event.reason }, 'feed')
    }
  })

  const marketDocuments = new MarketDocuments({
    processor,
    renderer,
    recorder,
    nowMs: () => clock.nowMs(),
    publish: (document) => send({ kind: 'documents', documents: [document] }),
    log,
  })
  const stopPublishing = clock.every(PUBLISH_PERIOD_MS / PUBLISH_PHASES, () => {
    const nowMs = clock.nowMs()
    const documents = [...processor.publish(nowMs)]
    recorder?.published(documents, nowMs)
    if (documents.length > 0) send({ kind: 'documents', documents })
    marketDocuments.tick()
  })
  const beat = () =>
    send({
      kind: 'heartbeat',
      heartbeat: {
        startedAtMs,
        feeds: feedHealth(processor, startedAtMs),
        counts: notices.counts,
      },
    })
  beat()
  const stopHeartbeat = clock.every(HEARTBEAT_PERIOD_MS, beat)

  let slices: Generator<unknown> | null = null
  const writeSlice = () => {
    slices ??= writes(processor, history, db, clock.nowMs())
    try {
      if (slices.next().done) slices = null
      else cancelSlice = clock.after(CHECKPOINT_SLICE_GAP_MS, writeSlice)
    } catch (cause) {
      slices = null
      log.error({ err: cause }, 'checkpoint not written; the engine goes on from memory')
    }
  }
  let cancelSlice = () => {}
  // At once, so that the versions of this run are above those of any before, however short that was.
  writeSlice()
  const stopCheckpoints = clock.every(CHECKPOINT_PERIOD_MS, () => {
    if (slices === null) writeSlice()
  })

  return {
    storeHealth: () => history.health,
    stop() {
      for (const stop of [stopPublishing, stopHeartbeat, stopCheckpoints, cancelSlice]) stop()
      marketDocuments.stop()
      renderer.close()
      feed.unsubscribe()
      history.add(processor.takeHistory())
      history.close(clock.nowMs())
      for (const _ of db.save(processor.checkpoint(clock.nowMs())));
      db.close()
    },
  }
}

/**
 * History first: a bar that a checkpoint knows is not asked for again, so a checkpoint on disk must not
 * know of one that history lacks.
 */
function* writes(
  processor: Processor,
  history: HistoryStore,
  db: CheckpointDb,
  nowMs: number,
): Generator<unknown> {
  history.add(processor.takeHistory())
  const checkpoint = processor.checkpoint(nowMs)
  yield* history.write(nowMs)
  yield* db.save(checkpoint)
  yield* history.tidy(nowMs)
}

function logHistory(log: Logger, notice: HistoryNotice): void {
  log[notice.kind === 'recovered' ? 'info' : 'error'](notice, 'history')
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
