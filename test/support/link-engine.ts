import type { Document } from '../../src/domain/document.ts'
import { documentKey } from '../../src/domain/document.ts'
import { ownDocuments } from '../../src/domain/placed-document.ts'
import { Leadership } from '../../src/link/broker/leadership.ts'
import { Publisher } from '../../src/link/broker/publisher.ts'
import { RedisBroker } from '../../src/link/broker/redis-broker.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import { answeredDocument, HEARTBEAT, universeOf } from '../../src/link/testing/engine-messages.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { textOf } from './link-rig.ts'

/** Messages of the parent: nothing is rendered from the first until the second. */
export type LinkEngineCommand = 'close-market' | 'open-market'

/** An engine of the link as a process: it renders while its market is open, and reports to its parent. */
export type LinkEngineSettings = {
  readonly url: string
  readonly engineId: string
  readonly coins: readonly string[]
  readonly documentsPerCoin: number
  readonly documentBytes: number
  /** Every document of every coin is rendered once in this time. */
  readonly periodMs: number
}

export type LinkEngineReport = {
  readonly epoch: number | null
  /** Number of publications that the broker refused because another engine leads. */
  readonly refusedPublications: number
  /** By `textOf`; empty while the market is open. */
  readonly documents: readonly string[]
}

const REPORT_PERIOD_MS = 20

const settings = JSON.parse(process.argv[2] ?? '{}') as LinkEngineSettings
const { url, engineId, coins, documentsPerCoin, documentBytes, periodMs } = settings
const clock = systemClock
const monotonicMs = () => performance.now()
const broker = new RedisBroker({ url, clock, random: Math.random, onFailure: () => {} })
const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
const leadership = new Leadership({
  ...{ broker, engineId, clock, monotonicMs },
  isFit: () => replica.state(clock.nowMs()) === 'available',
  onChange: () => {},
})
const publisher = new Publisher({ broker, replica, leadership, clock, monotonicMs })
let isOpen = true
let version = 0

publisher.apply(universeOf(coins), clock.nowMs())
for (const coin of coins) render(coin)
beat()
clock.every(1_000, beat)
let next = 0
clock.every(periodMs / coins.length, () => {
  const coin = coins[next % coins.length]
  next += 1
  if (isOpen && coin !== undefined) render(coin)
})
leadership.start()
publisher.start()
void connected().then(() => clock.every(REPORT_PERIOD_MS, report))
process.on('message', (command: LinkEngineCommand) => {
  isOpen = command === 'open-market'
})
process.on('disconnect', () => process.exit())
process.on('SIGTERM', () => {
  void leadership.stop().then(() => process.exit())
})

async function connected(): Promise<void> {
  while (true) {
    const isConnected = await broker
      .snapshot(() => {})
      .then(
        () => true,
        () => false,
      )
    if (isConnected) return
    await new Promise<void>((resolve) => clock.after(REPORT_PERIOD_MS, resolve))
  }
}

function report(): void {
  const { lease } = leadership
  const documents = isOpen
    ? []
    : coins.flatMap((coin) => ownDocuments(replica.documentsOf(coin)).map(textOf))
  const message = {
    epoch: lease?.epoch ?? null,
    refusedPublications: publisher.counts().fenced,
    documents: documents.toSorted(),
  }
  process.send?.(message satisfies LinkEngineReport)
}

function render(coin: string): void {
  const documents = Array.from({ length: documentsPerCoin }, (_, at) =>
    rendered(at === 0 ? 'pulse' : `other-${at}`, coin),
  )
  publisher.apply({ kind: 'documents', documents }, clock.nowMs())
}

function rendered(analysis: string, coin: string): Document {
  version += 1
  const text = `{"engine":"${engineId}","version":${version},"pad":"`
  const whole = `${text}${'x'.repeat(documentBytes - text.length - 2)}"}`
  return answeredDocument(documentKey(analysis, coin), version, clock.nowMs(), whole)
}

function beat(): void {
  publisher.apply(HEARTBEAT, clock.nowMs())
}
