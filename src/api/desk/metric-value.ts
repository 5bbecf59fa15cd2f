import type { Registry } from 'prom-client'

/** The present value of a metric without labels; null if it is not measured here, or unknown. */
export async function metricValue(metrics: Registry, name: string): Promise<number | null> {
  const read = await metrics.getSingleMetric(name)?.get()
  const value = read?.values[0]?.value
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
