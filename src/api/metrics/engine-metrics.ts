import type { Registry } from 'prom-client'
import type { Clock } from '../../domain/clock.ts'
import type { StoreHealth } from '../../domain/history.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import { sourceFigures } from '../desk/source-figures.ts'
import { readGauge, readGauges } from './read-gauge.ts'

/** The engine, its sources and its store, as its last heartbeat has them. */
export function measureEngine(
  metrics: Registry,
  engine: EngineReplica,
  clock: Pick<Clock, 'nowMs'>,
): void {
  measureLife(metrics, engine, clock)
  measureSources(metrics, engine, clock)
  measureStore(metrics, engine)
}

function measureLife(metrics: Registry, engine: EngineReplica, clock: Pick<Clock, 'nowMs'>): void {
  readGauge(
    metrics,
    'perpscope_engine_up',
    '1 while an engine is connected and responds, else 0.',
    () => (engine.state(clock.nowMs()) === 'available' ? 1 : 0),
  )
  readGauge(
    metrics,
    'perpscope_engine_heartbeat_age_seconds',
    'Time since the last heartbeat of the engine, of which it sends one per second.',
    () => {
      const { heartbeat } = engine
      return heartbeat && Math.max(0, clock.nowMs() - heartbeat.receivedAtMs) / 1_000
    },
  )
  readGauge(
    metrics,
    'perpscope_engine_start_time_seconds',
    'Start of the present run of the engine, Unix time.',
    () => engine.heartbeat && engine.heartbeat.startedAtMs / 1_000,
  )
  readGauge(metrics, 'perpscope_coins_listed', 'Coins that trade.', () => engine.listed.length)
  readGauge(
    metrics,
    'perpscope_coins_ready',
    'Coins whose default answer of /pulse exists.',
    () => engine.coins().length,
  )
}

function measureSources(
  metrics: Registry,
  engine: EngineReplica,
  clock: Pick<Clock, 'nowMs'>,
): void {
  const sourcesIn = (name: string, help: string, isIn: (state: string) => boolean) =>
    readGauges(metrics, name, help, 'source', () =>
      engine.sources().map(({ source, state }) => [source, isIn(state) ? 1 : 0] as const),
    )
  sourcesIn(
    'perpscope_source_up',
    '0 while an external source is down, blocks this machine or is turned off, else 1.',
    // A degraded source delivers in part.
    (state) => state === 'up' || state === 'degraded',
  )
  sourcesIn(
    'perpscope_source_degraded',
    '1 while an external source delivers only in part, or nothing new, else 0.',
    (state) => state === 'degraded',
  )
  sourcesIn(
    'perpscope_source_in_use',
    '0 for an external source that is turned off, else 1.',
    (state) => state !== 'off',
  )
  readGauges(
    metrics,
    'perpscope_feed_up',
    '0 while a feed of the venue is down, else 1.',
    'feed',
    // A degraded feed delivers: the offset of its clock is perpscope_clock_behind_seconds.
    () => engine.feeds().map(({ feed, state }) => [feed, state === 'down' ? 0 : 1] as const),
  )
  readGauges(
    metrics,
    'perpscope_source_lag_seconds',
    'Time since the newest data of a feed or of an external source arrived.',
    'source',
    () =>
      sourceFigures(engine, clock.nowMs()).flatMap(({ source, lagMs }) =>
        lagMs === null ? [] : [[source, lagMs / 1_000] as const],
      ),
  )
}

/** The counts restart with the engine. */
function measureStore(metrics: Registry, engine: EngineReplica): void {
  const gauge = (name: string, help: string, read: (store: StoreHealth) => number) =>
    readGauge(metrics, name, help, () => {
      const store = engine.store()
      return store && read(store)
    })
  gauge(
    'perpscope_store_ok',
    '1 while history is written to disk, 0 while rows are buffered in memory.',
    ({ state }) => (state === 'ok' ? 1 : 0),
  )
  gauge(
    'perpscope_store_dropped_rows',
    'History rows lost before they were written, since the engine started.',
    ({ droppedRows }) => droppedRows,
  )
  gauge(
    'perpscope_store_damaged_blocks',
    'Damaged history blocks found since the engine started.',
    ({ damagedBlocks }) => damagedBlocks,
  )
  gauge(
    'perpscope_store_set_aside_files',
    'Unreadable history files replaced by new ones since the engine started.',
    ({ setAsideFiles }) => setAsideFiles,
  )
  readGauge(
    metrics,
    'perpscope_recording_ok',
    '1 while the recording of --record is written, 0 after it stopped.',
    () => {
      const recording = engine.recording()
      return recording && (recording.state === 'on' ? 1 : 0)
    },
  )
}
