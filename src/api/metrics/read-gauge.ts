import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'

/** A gauge without labels that is read at each scrape; null exposes nothing. */
export function readGauge(
  metrics: Registry,
  name: string,
  help: string,
  read: () => number | null,
): void {
  new Gauge({
    ...{ name, help, registers: [metrics] },
    collect() {
      const value = read()
      if (value === null) this.remove()
      else this.set(value)
    },
  })
}

/** A gauge with one label that is read at each scrape. `read` gives the value of each label that exists now. */
export function readGauges(
  metrics: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [label: string, value: number]>,
): void {
  new Gauge({
    ...{ name, help, labelNames: [label], registers: [metrics] },
    collect() {
      this.reset()
      for (const [of, value] of read()) this.set({ [label]: of }, value)
    },
  })
}
