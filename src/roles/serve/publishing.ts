import { randomUUID } from 'node:crypto'
import { Counter } from 'prom-client'
import { readGauge } from '../../api/metrics/read-gauge.ts'
import type { Broker } from '../../link/broker/broker.ts'
import { Leadership } from '../../link/broker/leadership.ts'
import { Publisher } from '../../link/broker/publisher.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { ReplicaTarget } from '../../link/engine-supervisor.ts'
import type { EngineOrigin } from '../../link/message.ts'
import type { HealthFault } from '../../payment/health-monitor.ts'
import { monotonicMs, systemClock } from '../system-clock.ts'
import { EngineFitness } from './engine-fitness.ts'
import type { Foundation } from './foundation.ts'
import type { ServicePart } from './running-service.ts'

export type Publishing = ServicePart & {
  /** Receives the messages of the engine, which it also keeps in the replica. */
  readonly target: ReplicaTarget
  /** Whether this engine leads or could take over. */
  checks(): readonly { readonly check: string; readonly fault: HealthFault | null }[]
}

/** Publishes the documents of this process while it leads. */
export function publishing(
  replica: EngineReplica,
  broker: Broker,
  origin: Omit<EngineOrigin, 'sentAtMs'>,
  foundation: Foundation,
): Publishing {
  const { log, clock } = foundation
  const fitness = new EngineFitness(replica, clock.nowMs())
  const leadership: Leadership = new Leadership({
    ...{ broker, engineId: randomUUID(), clock: systemClock, monotonicMs },
    isFit: () => fitness.isFit(clock.nowMs()),
    onChange: (lease) => {
      if (lease === null) log.warn('this engine no longer leads; it stands by')
      else log.info({ epoch: lease.epoch }, 'this engine leads')
    },
  })
  const publisher = new Publisher({ replica, broker, leadership, clock: systemClock, monotonicMs })
  measure(leadership, publisher, foundation)
  return {
    checks: () => [{ check: 'can_lead', fault: fitness.fault(clock.nowMs()) }],
    target: {
      apply: (message, nowMs) =>
        publisher.apply(
          message.kind === 'heartbeat'
            ? {
                kind: 'heartbeat',
                heartbeat: { ...message.heartbeat, origin: { ...origin, sentAtMs: nowMs } },
              }
            : message,
          nowMs,
        ),
      disconnected: () => publisher.disconnected(),
      forget: () => publisher.forget(),
    },
    start: () => {
      publisher.start()
      leadership.start()
    },
    handOver: () => leadership.stop(),
    stop: () => publisher.stop(),
  }
}

function measure(leadership: Leadership, publisher: Publisher, { metrics }: Foundation): void {
  readGauge(
    metrics,
    'perpscope_engine_leads',
    '1 while this engine publishes, 0 while it stands by.',
    () => (leadership.lease === null ? 0 : 1),
  )
  readGauge(
    metrics,
    'perpscope_engine_epoch',
    'Epoch of the lease of this engine; 0 while it stands by.',
    () => leadership.lease?.epoch ?? 0,
  )
  new Counter({
    name: 'perpscope_publications_total',
    help: 'Publications of this engine by outcome: published, older (a newer one is stored), incomplete (what it continues is not stored, so everything follows), fenced (another engine leads), failed (no reply of the broker).',
    labelNames: ['outcome'],
    registers: [metrics],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(publisher.counts()))
        this.inc({ outcome }, count)
    },
  })
}
