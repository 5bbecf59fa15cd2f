import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import { readGauges } from '../api/metrics/read-gauge.ts'
import type { SteadyClock } from '../domain/steady-clock.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import { ClockCheck } from '../payment/clock-check.ts'
import type { HealthFault } from '../payment/health-monitor.ts'
import { HealthMonitor } from '../payment/health-monitor.ts'
import type { Ledger } from '../payment/ledger/ledger.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import type { CheckedSales } from '../payment/sales-readiness.ts'
import { SalesReadiness } from '../payment/sales-readiness.ts'
import { systemClock } from './system-clock.ts'

/** A monitor whose result is logged when it changes. */
export function watchOf(
  what: string,
  probe: () => Promise<string | null> | string | null,
  log: Logger,
): HealthMonitor {
  return new HealthMonitor({
    clock: systemClock,
    chance: Math.random,
    probe,
    onChange: (fault) => {
      if (fault === null) log.info({ what }, 'works again')
      else log.error({ what, reason: fault.reason }, 'does not work: see /readyz')
    },
  })
}

/** Checks the wall clock, by which payments are judged, against the venue. */
export function clockCheckOf(engine: EngineReader, steady: SteadyClock): ClockCheck {
  return new ClockCheck({
    clock: systemClock,
    venueAheadMs: () => {
      const aheadMs = engine.venueAheadMs()
      return aheadMs === null ? null : aheadMs - steady.offMs()
    },
  })
}

/** @param ledger null without payment */
export function salesReadiness(
  methods: readonly PaymentMethod[],
  ledger: Ledger | null,
  clock: ClockCheck,
  others: () => readonly CheckedSales[],
  log: Logger,
): { readonly sales: SalesReadiness | null; start(): void; stop(): void } {
  if (ledger === null) return { sales: null, start: () => {}, stop: () => {} }
  const watch = watchOf('the ledger', () => ledger.writeFault(), log)
  return {
    sales: new SalesReadiness({ methods, ledger: watch, clock, others }),
    start: () => watch.start(),
    stop: () => watch.stop(),
  }
}

type ReadinessFacts = {
  checks(): readonly { readonly check: string; readonly fault: HealthFault | null }[]
  readonly methods: readonly PaymentMethod[]
  readonly clock: ClockCheck
}

export function measureReadiness(
  { checks, methods, clock }: ReadinessFacts,
  metrics: Registry,
): void {
  readGauges(
    metrics,
    'perpscope_ready',
    'Result of each readiness check of /readyz: 1, or 0 while nothing is quoted.',
    'check',
    () => checks().map(({ check, fault }) => [check, fault === null ? 1 : 0]),
  )
  new Gauge({
    name: 'perpscope_can_settle',
    help: 'Whether payments by a method can be settled: 1, or 0 while it is not offered.',
    labelNames: ['scheme', 'network'],
    registers: [metrics],
    collect() {
      for (const { scheme, network, readiness } of methods)
        this.set({ scheme, network }, (readiness?.() ?? null) === null ? 1 : 0)
    },
  })
  readGauges(
    metrics,
    'perpscope_clock_behind_seconds',
    'How far the clock of this machine is behind the venue and the chains.',
    'reference',
    () => [...clock.offsets()].map(([reference, ms]) => [reference, ms / 1_000]),
  )
}
