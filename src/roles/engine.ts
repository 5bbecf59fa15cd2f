import { join } from 'node:path'
import type { Logger } from 'pino'
import { analyses } from '../compute/analyses/registry.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../compute/processor.ts'
import type { Clock } from '../domain/clock.ts'
import type { EngineMessage, FeedHealth } from '../link/message.ts'
import { CheckpointDb } from '../store/checkpoint-db.ts'
import type { Runtime } from '../streams/runtime.ts'
import { hyperliquidFeed } from '../streams/venues/hyperliquid/feed.ts'
import type { FeedNotice } from '../streams/venues/hyperliquid/notice.ts'

export type EngineOptions = {
  readonly venue: { readonly wsUrl: string; readonly infoUrl: string }
  readonly weightPerMinute: number
  readonly dataDir: string
  readonly version: string
  readonly logLevel: string
}

export type RunningEngine = {
  /** Saves a last checkpoint and lets go of everything. */
  stop(): void
}

const HEARTBEAT_PERIOD_MS = 1_000
const CHECKPOINT_PERIOD_MS = 10_000
const CHECKPOINT_SLICE_GAP_MS = 20
const SOCKETS = 4

/** Time, chance and the outside world, as the engine may touch them. */
export type EngineWorld = { readonly clock: Clock; readonly runtime: Runtime }

/** Wires venue → processor → gateway. What it learns survives it in the checkpoint. */
export function startEngine(
  options: EngineOptions,
  { clock, runtime }: EngineWorld,
  send: (message: EngineMessage) => void,
  log: Logger,
): RunningEngine {
  const startedAtMs = clock.nowMs()
  const { db, setAside, reason } = CheckpointDb.open(
    join(options.dataDir, 'engine.db'),
    startedAtMs,
  )
  if (setAside !== null) log.error({ setAside, reason }, 'checkpoint has been set aside')

  const processor = new Processor(analyses, options.version)
  const checkpoint = db.load()
  if (checkpoint !== null) {
    processor.restore(checkpoint, startedAtMs)
    send({ kind: 'universe', listings: processor.listings })
    log.info({ coins: checkpoint.coins.size }, 'restored from checkpoint')
  }

  const feed = hyperliquidFeed(
    {
      ...options.venue,
      weightPerMinute: options.weightPerMinute,
      sockets: SOCKETS,
      historyOf: (coin, nowMs) => processor.historyOf(coin, nowMs),
      onNotice: (notice) => logNotice(log, notice),
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

  const stopPublishing = clock.every(PUBLISH_PERIOD_MS / PUBLISH_PHASES, () => {
    const documents = [...processor.publish(clock.nowMs())]
    if (documents.length > 0) send({ kind: 'documents', documents })
  })
  const beat = () =>
    send({
      kind: 'heartbeat',
      heartbeat: { startedAtMs, feeds: feedHealth(processor, startedAtMs) },
    })
  beat()
  const stopHeartbeat = clock.every(HEARTBEAT_PERIOD_MS, beat)

  let slices: Generator<void> | null = null
  const writeSlice = () => {
    slices ??= db.save(processor.checkpoint())
    try {
      if (slices.next().done) slices = null
      else cancelSlice = clock.after(CHECKPOINT_SLICE_GAP_MS, writeSlice)
    } catch (cause) {
      slices = null
      log.error({ err: cause }, 'checkpoint not written; the engine goes on from memory')
    }
  }
  let cancelSlice = () => {}
  const stopCheckpoints = clock.every(CHECKPOINT_PERIOD_MS, () => {
    if (slices === null) writeSlice()
  })

  return {
    stop() {
      for (const stop of [stopPublishing, stopHeartbeat, stopCheckpoints, cancelSlice]) stop()
      feed.unsubscribe()
      for (const _ of db.save(processor.checkpoint()));
      db.close()
    },
  }
}

/** What changes the service is a warning; single values that the decoder left out are detail. */
function logNotice(log: Logger, notice: FeedNotice): void {
  const isDetail = notice.kind === 'value-dropped' || notice.kind === 'frame-rejected'
  log[isDetail ? 'debug' : 'warn'](notice, 'feed')
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
