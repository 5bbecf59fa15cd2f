import { Mirror } from '../src/link/broker/mirror.ts'
import { RedisBroker } from '../src/link/broker/redis-broker.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import type { EngineMessage } from '../src/link/message.ts'
import { monotonicMs, systemClock } from '../src/roles/system-clock.ts'
import { digestOf, machineMs } from './document-digest.ts'

/** Follows the broker whose URL is its argument, and answers each message of its parent with a report. */
export type MirrorReport = {
  /** From the connection to the broker until everything that it stores is usable; null before that. */
  readonly readyMs: number | null
  /** Received since the last report. */
  readonly receipts: readonly Receipt[]
  readonly cpuMicroseconds: number
  /** Digests of the documents by key. */
  readonly digests: Readonly<Record<string, string>>
}

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
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const documents = [...replica.subjects].flatMap((subject) => replica.documentsOf(subject))
    const digests = Object.fromEntries(documents.map((one) => [one.key, digestOf(one)]))
    const { receipts } = replica
    replica.receipts = []
    const report: MirrorReport = { readyMs, receipts, cpuMicroseconds: user + system, digests }
    process.send?.(report)
  })
}
