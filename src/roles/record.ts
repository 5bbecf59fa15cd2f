import closeWithGrace from 'close-with-grace'
import ora from 'ora'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { version } from '../config/environment.ts'
import type { RecordOptions } from '../config/record.ts'
import type { OperatingError } from '../domain/errors.ts'
import { Engine } from '../engine/engine.ts'
import { synchronousRenderer } from '../engine/market-renderer.ts'
import { openRecorder } from '../engine/recorder.ts'
import type { Recorder } from '../engine/recording.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import { lockDataDir } from '../store/data-dir.ts'
import { beginVersion, checkDataVersions } from '../store/data-versions.ts'
import type { FrameLogProgress } from '../store/frame-log-writer.ts'
import { walCheckpointThread } from '../store/wal-checkpoint-thread.ts'
import { externalFeed } from '../streams/external/external-feed.ts'
import { versionedFiles } from './backup/data-files.ts'
import { externalAddresses } from './external-source.ts'
import { engineLogger } from './logger.ts'
import { loadSqlite } from './sqlite-binding.ts'
import { steadySystemClock, systemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'
import { claimFor, liquidationSources, venueOf } from './venue-source.ts'

const CLOSE_MS_MAX = 15_000
const PROGRESS_PERIOD_MS = 1_000

/** `perpscope record`: an engine without a gateway, until Ctrl-C or until the file may not grow. */
export async function record(options: RecordOptions, write: (line: string) => void): Promise<void> {
  const { out, maxBytes, source, weightPerMinute, subscriptionsMax, dexes, dataDir } = options
  loadSqlite()
  const lock = lockDataDir(dataDir)
  checkDataVersions(dataDir, versionedFiles, version)
  beginVersion(dataDir, versionedFiles, version)
  claimFor(source, dataDir)
  const { promise: ended, resolve: endBecause } = Promise.withResolvers<OperatingError>()
  const { recorder, log } = await openRecorder(
    { path: out, bytesMax: maxBytes },
    systemClock,
    endBecause,
  )
  const replica = new EngineReplica({
    analysis: pulse.contract.id,
    view: pulse.contract.defaultView,
  })
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
        ...{ venue: venueOf(source), version, weightPerMinute, subscriptionsMax, dexes, dataDir },
        ...liquidationSources(options),
      },
      {
        ...{ clock, runtime },
        log: await engineLogger(options),
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
  const said = () => describe(frames, log.progress(), replica.coins().length)
  const stopProgress = showProgress(() => `recording: ${said()}`)

  let stopped: OperatingError | null = null
  const grace = closeWithGrace({ delay: CLOSE_MS_MAX, logger: false }, async ({ err }) => {
    stopProgress()
    engine.stop()
    walCheckpoints.close()
    await log.close()
    lock.close()
    write(`${out}: ${said()}\n`)
    if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
    if (stopped === null) return
    const why = stopped.cause instanceof Error ? `: ${stopped.cause.message}` : ''
    process.stderr.write(`perpscope: ${stopped.message}${why}\n`)
    // A full file is what was asked for; anything else is not.
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

/** On a terminal only: elsewhere nobody waits for it. */
function showProgress(text: () => string): () => void {
  if (!process.stderr.isTTY) return () => undefined
  const spinner = ora({ text: text(), stream: process.stderr }).start()
  const stop = systemClock.every(PROGRESS_PERIOD_MS, () => {
    spinner.text = text()
  })
  return () => {
    stop()
    spinner.stop()
  }
}
