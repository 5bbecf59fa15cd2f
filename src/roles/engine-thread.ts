import type { MessagePort } from 'node:worker_threads'
import { parentPort } from 'node:worker_threads'
import type { LogOptions } from '../config/option.ts'
import { DocumentMemory } from '../domain/placed-document.ts'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import type { EngineOptions } from '../engine/engine.ts'
import { Engine } from '../engine/engine.ts'
import type { RecordingFile, ServedRecording } from '../engine/recorder.ts'
import { recordWhileServing } from '../engine/recorder.ts'
import type { EngineMessage } from '../link/message.ts'
import { walCheckpointThread } from '../store/wal-checkpoint-thread.ts'
import { externalFeed } from '../streams/external/external-feed.ts'
import type { ExternalAddresses } from './external-source.ts'
import { collectWhenLoaded, sizeNextThread } from './lean-process.ts'
import { engineLogger } from './logger.ts'
import { isWarning } from './recent-warnings.ts'
import { steadySystemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'
import { ThreadMeter } from './thread-usage.ts'
import { workerRenderer } from './worker-renderer.ts'

/** The gateway posts this to start the engine. */
export type EngineThreadOptions = {
  readonly engine: EngineOptions
  /** For the documents. */
  readonly memory: SharedArrayBuffer
  readonly external: ExternalAddresses
  readonly recording: RecordingFile | undefined
  readonly log: LogOptions
  /** Of the gateway's clock, so that both threads show the same time. */
  readonly clockAnchor: ClockAnchor
}

/** A warning or error of the engine's log, for the desk. */
export type LoggedLine = { readonly kind: 'log'; readonly line: string }

/** Entry of the engine's worker thread. */
const port = parentPort
if (port === null) throw new Error('engine-thread runs as a worker only')
let running: Promise<() => void> | undefined
port.on('message', (message: EngineThreadOptions | 'stop') => {
  if (message === 'stop') void running?.then((stop) => stop())
  else running = run(message, port)
})

/** @returns stops the engine */
async function run(options: EngineThreadOptions, port: MessagePort): Promise<() => void> {
  const clock = steadySystemClock(options.clockAnchor)
  const log = await engineLogger(options.log, (line) => {
    if (isWarning(line)) port.postMessage({ kind: 'log', line } satisfies LoggedLine)
  })
  const recording =
    options.recording &&
    (await recordWhileServing(options.recording, clock, (cause) =>
      log.error({ err: cause }, 'recording stopped; the engine continues'),
    ))
  const runtime = systemRuntime(clock)
  sizeNextThread('worker')
  const walCheckpoints = walCheckpointThread()
  const meter = new ThreadMeter()
  const engine = Engine.start(
    options.engine,
    {
      ...{ clock, runtime, log },
      external: (context) => externalFeed(options.external, context, runtime),
      checkpointer: walCheckpoints.checkpoint,
      renderer: workerRenderer((cause) => log.error({ err: cause }, 'a rendering worker died')),
      recorder: recording?.recorder,
      memory: new DocumentMemory(options.memory),
    },
    (message) => port.postMessage(completed(message, meter, recording)),
  )
  const cancelCollections = collectWhenLoaded(clock)

  return () => {
    cancelCollections()
    engine.stop()
    walCheckpoints.close()
    // Pending writes keep the thread alive until they are on disk.
    void recording?.close()
    port.close()
  }
}

/** Adds what the engine does not know: the usage of its thread, and the health of the file. */
function completed(
  message: EngineMessage,
  meter: ThreadMeter,
  recording?: ServedRecording,
): EngineMessage {
  if (message.kind !== 'heartbeat') return message
  const heartbeat = { ...message.heartbeat, thread: meter.read() }
  if (recording === undefined) return { ...message, heartbeat }
  return { ...message, heartbeat: { ...heartbeat, recording: recording.health() } }
}
