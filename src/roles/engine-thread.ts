import { parentPort, workerData } from 'node:worker_threads'
import type { EngineMessage } from '../link/message.ts'
import type { EngineOptions } from './engine.ts'
import { startEngine } from './engine.ts'
import { engineLogger } from './logger.ts'

/** Entry of the engine's worker thread. The gateway's thread supervises it. */
const port = parentPort
if (port === null) throw new Error('engine-thread runs as a worker only')

const options = workerData as EngineOptions
const engine = startEngine(
  options,
  (message: EngineMessage) => port.postMessage(message),
  engineLogger(options.logLevel),
)

port.on('message', (command: unknown) => {
  if (command !== 'stop') return
  engine.stop()
  port.close()
})
