import closeWithGrace from 'close-with-grace'
import { version } from '../config/environment.ts'
import type { RecordOptions } from '../config/record.ts'
import type { OperatingError } from '../domain/errors.ts'
import { Engine } from '../engine/engine.ts'
import { synchronousRenderer } from '../engine/market-renderer.ts'
import { openRecorder } from '../engine/recorder.ts'
import type { Recorder } from '../engine/recording.ts'
import type { FrameLogProgress } from '../store/frame-log-writer.ts'
import { walCheckpointThread } from '../store/wal-checkpoint-thread.ts'
import { externalFeed } from '../streams/external/external-feed.ts'
import { externalAddresses } from './external-source.ts'
import { engineLogger } from './logger.ts'
import { newReplica } from './new-replica.ts'
import { lockDataFolder, prepareDataFolder } from './serve/data-folder.ts'
import type { ServicePart } from './serve/running-service.ts'
import { stopAll } from './serve/running-service.ts'
import { steadySystemClock, systemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'
import { terminalSpinner } from './terminal-spinner.ts'
import { liquidationSources, venueOf } from './venue-source.ts'

const CLOSE_MS_MAX = 15_000
const PROGRESS_PERIOD_MS = 1_000

/** `perpscope record`: an engine without a gateway, until Ctrl-C or until the file may not grow. */
export async function record(options: RecordOptions, write: (line: string) => void): Promise<void> {
  const { out, maxBytes, source, weightPerMinute, subscriptionsMax, dexes } = options
  const { dataDir, historyDays } = options
  const opened: ServicePart[] = []
  lockDataFolder(source, dataDir, opened)
  const logger = await engineLogger(options)
  prepareDataFolder(dataDir, logger)
  const { promise: ended, resolve: endBecause } = Promise.withResolvers<OperatingError>()
  const { recorder, log } = await openRecorder(
    { path: out, bytesMax: maxBytes },
    systemClock,
    endBecause,
  )
  const replica = newReplica()
  let frames = 0
  const counting: Recorder = {
    ...recorder,
    arrived: (arrival, nowMs) => {
      if (arrival.kind === 'frame') frames += 1
      recorder.arrived(arrival, nowMs)
    },
  }

  const clock = steadySystemClock()
  const runtime = systemRuntime(clock)
  const addresses = externalAddresses(options)
  const walCheckpoints = walCheckpointThread()
  let engine: Engine
  try {
    engine = Engine.start(
      {
        ...{ venue: venueOf(source), version, weightPerMinute, subscriptionsMax, dexes },
        ...{ dataDir, historyDays },
        ...liquidationSources(options),
      },
      {
        ...{ clock, runtime },
        log: logger,
        external: (context) => externalFeed(addresses, context, runtime),
        checkpointer: walCheckpoints.checkpoint,
        renderer: synchronousRenderer,
        recorder: counting,
      },
      (message) => replica.apply(message, clock.nowMs()),
    )
  } catch (cause) {
    await log.close()
    throw cause
  }
  const summary = () => describe(frames, log.progress(), replica.coins().length)
  const stopProgress = showProgress(() => `recording: ${summary()}`)

  let stopped: OperatingError | null = null
  const grace = closeWithGrace({ delay: CLOSE_MS_MAX, logger: false }, async ({ err }) => {
    stopProgress()
    engine.stop()
    walCheckpoints.close()
    await log.close()
    await stopAll(opened)
    write(`${out}: ${summary()}\n`)
    if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
    if (stopped === null) return
    const why = stopped.cause instanceof Error ? `: ${stopped.cause.message}` : ''
    process.stderr.write(`perpscope: ${stopped.message}${why}\n`)
    // The maximum size ends a recording as intended; any other reason is a failure.
    if (stopped.code !== 'recording_full') throw stopped
  })
  void ended.then((cause) => {
    stopped = cause
    grace.close()
  })
}

function describe(frames: number, { fileBytes, lagMs }: FrameLogProgress, ready: number): string {
  const size = `${(fileBytes / 1e6).toFixed(1)} MB`
  return `${frames} frames, ${size}, ${ready} coins ready, ${(lagMs / 1_000).toFixed(1)} s not on disk`
}

/** Only on a terminal. */
function showProgress(text: () => string): () => void {
  const spinner = terminalSpinner(process.stderr)
  if (spinner === null) return () => undefined
  spinner.start(text())
  const stop = systemClock.every(PROGRESS_PERIOD_MS, () => {
    spinner.text = text()
  })
  return () => {
    stop()
    spinner.stop()
  }
}
