import { parentPort, workerData } from 'node:worker_threads'
import { asyncScheduler } from 'rxjs'
import type { EngineMessage } from '../link/message.ts'
import { postJson } from '../streams/http-post.ts'
import { connectWebSocket } from '../streams/web-socket.ts'
import type { EngineOptions } from './engine.ts'
import { startEngine } from './engine.ts'
import { engineLogger } from './logger.ts'
import { systemClock } from './system-clock.ts'

/** Entry of the engine's worker thread. The gateway's thread supervises it. */
const port = parentPort
if (port === null) throw new Error('engine-thread runs as a worker only')

const options = workerData as EngineOptions
const engine = startEngine(
  options,
  {
    clock: systemClock,
    runtime: {
      scheduler: asyncScheduler,
      random: Math.random,
      connect: connectWebSocket,
      post: postJson,
    },
  },
  (message: EngineMessage) => port.postMessage(message),
  engineLogger(options.logLevel),
)

port.on('message', (command: unknown) => {
  if (command !== 'stop') return
  engine.stop()
  port.close()
})
