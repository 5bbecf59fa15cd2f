import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { ProbeMetrics } from './probe-metrics.ts'

test('the end of a certificate stays while the service cannot be reached', async () => {
  const metrics = new Registry()
  const probe = new ProbeMetrics(metrics, () => 0)
  const name = 'perpscope_probe_certificate_end_time_seconds'
  probe.setCertificateEnd(null)
  expect(await metrics.metrics(), 'http').not.toContain(`${name} 9`)
  probe.setCertificateEnd(9_000)
  probe.setCertificateEnd(null)
  expect(await metrics.metrics()).toContain(`${name} 9`)
})
