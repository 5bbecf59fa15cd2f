import { ownDocuments } from '../src/domain/placed-document.ts'
import { Mirror } from '../src/link/broker/mirror.ts'
import { RedisBroker } from '../src/link/broker/redis-broker.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import type { EngineMessage } from '../src/link/message.ts'
import { monotonicMs, systemClock } from '../src/roles/system-clock.ts'
import { digestOf, machineMs } from './document-digest.ts'

/** Follows the broker whose URL is its argument, and answers each question of its parent. */
export type MirrorQuestion = 'report' | 'digests'

export type MirrorReport = {
  /** From the connection to the broker until everything that it stores is usable; null before that. */
  readonly readyMs: number | null
  /** Received since the last report. */
  readonly receipts: readonly Receipt[]
  readonly cpuMicroseconds: number
}

/** By key of the document. They take longer than a publication, so they are no part of a report. */
export type MirrorDigests = Readonly<Record<string, string>>

/** When the documents of a subject became usable, by the clock that all processes of a machine share. */
export type Receipt = {
  readonly subject: string
  readonly version: number
  readonly usableAtMs: number
}

const READY_PERIOD_MS = 5

class TimedReplica extends EngineReplica {
  receipts: Receipt[] = []
  readonly subjects = new Set<string>()

  override apply(message: EngineMessage, nowMs: number): void {
    super.apply(message, nowMs)
    if (message.kind !== 'subject') return
    const { subject, documents } = message
    const version = Math.max(...documents.map((one) => one.version))
    this.receipts.push({ subject, version, usableAtMs: machineMs() })
    this.subjects.add(subject)
  }
}

follow(process.argv[2] ?? '')

function follow(brokerUrl: string): void {
  const startedMs = monotonicMs()
  let readyMs: number | null = null
  const replica = new TimedReplica({ analysis: 'pulse', view: '1h,4h' })
  const mirror = new Mirror({
    broker: new RedisBroker({
      url: brokerUrl,
      clock: systemClock,
      random: Math.random,
      onFailure: () => {},
    }),
    replica,
    clock: systemClock,
    monotonicMs,
    onNotice: () => {},
  })
  const stopPolling = systemClock.every(READY_PERIOD_MS, () => {
    if (!mirror.isReady) return
    readyMs = monotonicMs() - startedMs
    stopPolling()
  })
  mirror.start()
  process.on('disconnect', () => process.exit())
  process.on('message', (question: MirrorQuestion) => {
    process.send?.(question === 'digests' ? digests() : report())
  })

  function digests(): MirrorDigests {
    const documents = [...replica.subjects].flatMap((subject) =>
      ownDocuments(replica.documentsOf(subject)),
    )
    return Object.fromEntries(documents.map((one) => [one.key, digestOf(one)]))
  }

  function report(): MirrorReport {
    const { user, system } = process.cpuUsage()
    const { receipts } = replica
    replica.receipts = []
    return { readyMs, receipts, cpuMicroseconds: user + system }
  }
}
