import type { MessagePort } from 'node:worker_threads'
import { parentPort } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { ClockAnchor } from '../domain/steady-clock.ts'
import type { EngineMessage } from '../link/message.ts'
import { syncInBackground } from '../store/wal-copy.ts'
import { outsideFeed } from '../streams/outside/outside-feed.ts'
import type { EngineOptions } from './engine.ts'
import { startEngine } from './engine.ts'
import { engineLogger } from './logger.ts'
import { threadRenderer } from './market-renderer.ts'
import type { FileRecorder, RecordingOptions } from './recorder.ts'
import { openRecorder } from './recorder.ts'
import { steadySystemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'

export type EngineThreadOptions = EngineOptions & {
  /** Of the gateway's clock: both threads show the same time. */
  readonly clockAnchor: ClockAnchor
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
  { clockAnchor, ...options }: EngineThreadOptions,
  port: MessagePort,
): Promise<() => void> {
  const clock = steadySystemClock(clockAnchor)
  const log = engineLogger(options.logLevel)
  const recorded = options.recording && (await openIfUsable(options.recording, log))
  const runtime = systemRuntime(clock)
  const { outside = {} } = options
  const engine = startEngine(
    options,
    {
      clock,
      runtime,
      outside: (context) => outsideFeed(outside, context, runtime),
      fileSync: syncInBackground,
      renderer: threadRenderer((cause) => log.error({ err: cause }, 'a rendering worker died')),
      recorder: recorded?.recorder,
    },
    (message: EngineMessage) => port.postMessage(message),
    log,
  )

  return () => {
    engine.stop()
    // What is still on its way to the disk keeps the thread until it is there.
    void recorded?.log.close()
    port.close()
  }
}

/** The engine is there to serve: it goes on without a recording, and says so. */
async function openIfUsable(
  recording: RecordingOptions,
  log: Logger,
): Promise<FileRecorder | undefined> {
  const goOnWithout = (cause: unknown) =>
    log.error({ err: cause }, 'not recorded any more; the engine goes on')
  try {
    return await openRecorder(recording, goOnWithout)
  } catch (cause) {
    goOnWithout(cause)
    return undefined
  }
}
