import type { MessagePort } from 'node:worker_threads'
import { parentPort } from 'node:worker_threads'
import type { LogOptions } from '../config/option.ts'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import type { EngineMessage } from '../link/message.ts'
import { syncInBackground } from '../store/wal-copy.ts'
import { externalFeed } from '../streams/external/external-feed.ts'
import type { EngineOptions } from './engine.ts'
import { startEngine } from './engine.ts'
import { collectWhenLoaded } from './lean-process.ts'
import { engineLogger } from './logger.ts'
import { threadRenderer } from './market-renderer.ts'
import type { ServedRecording } from './recorder.ts'
import { recordWhileServing } from './recorder.ts'
import { steadySystemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'

export type EngineThreadOptions = EngineOptions & {
  /** Of the gateway's clock: both threads show the same time. */
  readonly clockAnchor: ClockAnchor
  readonly logFormat: LogOptions['logFormat']
}

/** Entry of the engine's worker thread. The gateway's thread tells it to begin, and supervises it. */
const port = parentPort
if (port === null) throw new Error('engine-thread runs as a worker only')
let running: Promise<() => void> | undefined
port.on('message', (told: EngineThreadOptions | 'stop') => {
  if (told === 'stop') void running?.then((stop) => stop())
  else running = run(told, port)
})

/** @returns what ends it */
async function run(
  { clockAnchor, logFormat, ...options }: EngineThreadOptions,
  port: MessagePort,
): Promise<() => void> {
  const clock = steadySystemClock(clockAnchor)
  const log = await engineLogger({ ...options, logFormat })
  const recording =
    options.recording &&
    (await recordWhileServing(options.recording, clock, (cause) =>
      log.error({ err: cause }, 'not recorded any more; the engine goes on'),
    ))
  const runtime = systemRuntime(clock)
  const { external = {} } = options
  const engine = startEngine(
    options,
    {
      clock,
      runtime,
      external: (context) => externalFeed(external, context, runtime),
      fileSync: syncInBackground,
      renderer: threadRenderer((cause) => log.error({ err: cause }, 'a rendering worker died')),
      recorder: recording?.recorder,
    },
    (message: EngineMessage) => port.postMessage(withRecording(message, recording)),
    log,
  )
  const cancelCollections = collectWhenLoaded(clock)

  return () => {
    cancelCollections()
    engine.stop()
    // What is still on its way to the disk keeps the thread until it is there.
    void recording?.close()
    port.close()
  }
}

/** The engine knows nothing of the file. */
function withRecording(message: EngineMessage, recording?: ServedRecording): EngineMessage {
  if (message.kind !== 'heartbeat' || recording === undefined) return message
  return { ...message, heartbeat: { ...message.heartbeat, recording: recording.health() } }
}
