import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import { BlockChains } from '../domain/block-chains.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import { PackedDocument } from '../domain/packed-document.ts'
import type { Placed } from '../domain/placed-document.ts'
import { newDocumentMemory, PlacedDocument } from '../domain/placed-document.ts'
import type { SteadyClock } from '../domain/steady-clock.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { SpawnEngine } from '../link/engine-supervisor.ts'
import type { EngineMessage } from '../link/message.ts'
import type { EngineThreadOptions, LoggedLine } from './engine-thread.ts'
import { sizeNextThread } from './lean-process.ts'

type ClonedDocuments = {
  readonly kind: 'documents'
  readonly documents: readonly (ConstructorParameters<typeof PackedDocument>[0] | Placed)[]
}
type ClonedMessage = Exclude<EngineMessage, { kind: 'documents' }> | ClonedDocuments

/**
 * Runs engines in worker threads. The first thread is created at once and loads its code while the gateway is built.
 * `kill` terminates the thread without a last checkpoint.
 */
export function spawnEngineThread(
  options: Omit<EngineThreadOptions, 'clockAnchor' | 'memory'>,
  clock: SteadyClock,
  onLogged: (line: string) => void,
): SpawnEngine {
  const threadFile = new URL('../roles/engine-thread.js', import.meta.url)
  const newThread = () => {
    sizeNextThread('engine')
    const worker = new Worker(threadFile, { name: 'engine' })
    return { worker, ended: endOf(worker) }
  }
  let waiting: ReturnType<typeof newThread> | null = newThread()
  // The process of a gateway that cannot start ends without waiting for the thread.
  waiting.worker.unref()
  // Until its first heartbeat an engine may not have sent all kept documents, and has requested nothing.
  let hasBegun = false
  return ({ onMessage, onExit, isClockNew }) => {
    const { worker, ended } = waiting ?? newThread()
    waiting = null
    worker.ref()
    void ended.then(onExit)
    const memory = newDocumentMemory()
    const chains = new BlockChains(memory)
    worker.postMessage({
      memory,
      ...options,
      engine: { ...options.engine, isRestart: hasBegun, isClockNew },
      clockAnchor: clock.anchor(),
    } satisfies EngineThreadOptions)
    worker.on('message', (message: ClonedMessage | LoggedLine) => {
      if (message.kind === 'log') {
        onLogged(message.line)
        return
      }
      hasBegun ||= message.kind === 'heartbeat'
      onMessage(message.kind === 'documents' ? withClasses(message, chains) : message)
    })
    return {
      kill: () => void worker.terminate(),
      stop: () => worker.postMessage('stop'),
    }
  }
}

/** Structured clone keeps the members of a document, but not its class. */
function withClasses({ kind, documents }: ClonedDocuments, chains: BlockChains): EngineMessage {
  return {
    kind,
    documents: documents.map((document) =>
      'first' in document ? new PlacedDocument(document, chains) : new PackedDocument(document),
    ),
  }
}

/** Counts the feed events of all engines; an engine's own counts start at 0. */
export function countFeedEvents(engine: EngineReader, metrics: Registry): void {
  const seen = new Map<string, number>()
  new Counter({
    name: 'perpscope_feed_notices_total',
    help: 'Events of the feeds, by kind and reason.',
    labelNames: ['notice'],
    registers: [metrics],
    collect() {
      for (const [notice, count] of Object.entries(engine.counts())) {
        const before = seen.get(notice) ?? 0
        this.inc({ notice }, count >= before ? count - before : count)
        seen.set(notice, count)
      }
    },
  })
}

/** The reason for which a thread ends, also if it ends before it is used. */
function endOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    let reason = 'ended'
    worker.on('error', (cause) => {
      // Errors of a thread arrive without their class.
      const isExpected = cause instanceof Error && cause.name === OperatingError.name
      reason = isExpected ? reasonOf(cause) : inspect(cause)
    })
    worker.on('exit', (code) => resolve(`${reason} (code ${code})`))
  })
}
