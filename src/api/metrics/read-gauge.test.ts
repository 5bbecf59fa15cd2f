import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { readGauge, readGauges } from './read-gauge.ts'

test('a gauge that cannot be read is absent, and does not fail the scrape', async () => {
  const metrics = new Registry()
  let isAway = false
  const ask = async <Value>(value: Value) => {
    if (isAway) throw new Error('the database is away')
    return value
  }
  readGauge(metrics, 'well', 'Read.', () => 1)
  readGauge(metrics, 'stored', 'Asked.', () => ask(2))
  readGauges(metrics, 'stored_by', 'Asked.', 'of', () => ask([['one', 3] as const]))
  const lines = async () => (await metrics.metrics()).split('\n').filter((line) => /^\w/.test(line))
  expect(await lines()).toEqual(['well 1', 'stored 2', 'stored_by{of="one"} 3'])
  isAway = true
  expect(await lines()).toEqual(['well 1'])
})
