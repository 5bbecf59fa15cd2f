import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { USAGE } from '../testing/admin-fixture.ts'
import { measureThreads, ThreadReadings } from './thread-metrics.ts'

test('a delay between two scrapes stays visible for a minute', async () => {
  const metrics = new Registry()
  const engine = new ThreadReadings()
  measureThreads(metrics, { engine, gateway: new ThreadReadings() })
  engine.add({ ...USAGE, loopDelay: { p50Ms: 1, p99Ms: 900, maxMs: 2_000 } })
  for (let second = 0; second < 59; second += 1) engine.add(USAGE)
  const longest = 'perpscope_event_loop_delay_max_seconds{thread="engine"}'
  const read = async () => (await metrics.metrics()).split('\n')
  expect(await read()).toContain(`${longest} 2`)
  engine.add(USAGE)
  expect(await read()).toContain(`${longest} 0.002`)
  // Without a reading there is no series.
  expect((await read()).filter((line) => line.includes('thread="gateway"'))).toEqual([])
})
