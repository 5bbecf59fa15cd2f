import type { Registry } from 'prom-client'
import { Counter, Gauge, Histogram } from 'prom-client'
import { readGauge } from '../../api/metrics/read-gauge.ts'
import type { CheckResult } from './check-window.ts'

const LATENCY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const AGE_SECONDS = [1, 2, 5, 10, 30, 60, 300, 900, 3_600]

/** Metrics of `perpscope probe`. */
export class ProbeMetrics {
  readonly #success: Gauge
  readonly #checks: Counter
  readonly #latency: Histogram
  readonly #age: Histogram
  #certificateEndMs: number | null = null

  constructor(metrics: Registry, spentUsd: () => number) {
    const registers = [metrics]
    const labelNames = ['check']
    this.#success = new Gauge({
      name: 'perpscope_probe_success',
      help: '1 if the last check passed, else 0.',
      ...{ labelNames, registers },
    })
    this.#checks = new Counter({
      name: 'perpscope_probe_checks_total',
      help: 'Checks by outcome: ok, failed, or skipped for the budget of the day.',
      labelNames: ['check', 'outcome'],
      registers,
    })
    this.#latency = new Histogram({
      name: 'perpscope_probe_duration_seconds',
      help: 'Duration of successful checks.',
      buckets: LATENCY_SECONDS,
      ...{ labelNames, registers },
    })
    this.#age = new Histogram({
      name: 'perpscope_probe_data_age_seconds',
      help: 'Age of the data that a successful check found.',
      buckets: AGE_SECONDS,
      ...{ labelNames, registers },
    })
    new Counter({
      name: 'perpscope_probe_spent_usdc_total',
      help: 'Spent on purchases.',
      registers,
      collect() {
        this.reset()
        this.inc(spentUsd())
      },
    })
    readGauge(
      metrics,
      'perpscope_probe_certificate_end_time_seconds',
      'End of the certificate of the service, Unix time; absent without TLS.',
      () => this.#certificateEndMs && this.#certificateEndMs / 1_000,
    )
  }

  add({ check, outcome, latencyMs, ageSeconds }: CheckResult): void {
    this.#checks.inc({ check, outcome })
    if (outcome === 'skipped') return
    this.#success.set({ check }, outcome === 'ok' ? 1 : 0)
    if (outcome === 'failed') return
    if (latencyMs !== null) this.#latency.observe({ check }, latencyMs / 1_000)
    if (ageSeconds !== null) this.#age.observe({ check }, ageSeconds)
  }

  /** @param endMs null if it was not read, after which the last one stays: an alert on it waits for an hour */
  setCertificateEnd(endMs: number | null): void {
    this.#certificateEndMs = endMs ?? this.#certificateEndMs
  }
}
