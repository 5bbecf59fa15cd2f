import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'

/**
 * A gauge without labels that is read at each scrape; null exposes nothing, and neither does a rejected promise, which
 * would fail the whole scrape.
 */
export function readGauge(
  metrics: Registry,
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
): void {
  new Gauge({
    ...{ name, help, registers: [metrics] },
    async collect() {
      const value = await readOr(null, read)
      if (value === null) this.remove()
      else this.set(value)
    },
  })
}

type LabelledValues = Iterable<readonly [label: string, value: number]>

/**
 * A gauge with one label that is read at each scrape. `read` gives the value of each label that exists now; a rejected
 * promise exposes nothing.
 */
export function readGauges(
  metrics: Registry,
  name: string,
  help: string,
  label: string,
  read: () => LabelledValues | Promise<LabelledValues>,
): void {
  new Gauge({
    ...{ name, help, labelNames: [label], registers: [metrics] },
    async collect() {
      const values = await readOr<LabelledValues>([], read)
      this.reset()
      for (const [of, value] of values) this.set({ [label]: of }, value)
    },
  })
}

/** What is asked elsewhere may be away. What is computed here and throws is a defect, which fails the scrape. */
async function readOr<Value>(none: Value, read: () => Value | Promise<Value>): Promise<Value> {
  const value = read()
  return value instanceof Promise ? value.catch(() => none) : value
}
