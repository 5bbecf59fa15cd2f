import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayFixture } from '../../api/testing/gateway-fixture.ts'
import { measuring } from './measuring.ts'

test.each([
  ['all', true],
  ['engine', true],
  ['gateway', false],
] as const)(
  'the disk of the data directory of --role %s is measured: %s',
  async (role, isMeasured) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-measuring-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    const { clock, engine } = gatewayFixture()
    const metrics = new Registry()
    measuring({ dataDir, role }, engine, { clock, metrics }, null)
    expect(/^perpscope_disk_free_bytes \d/m.test(await metrics.metrics())).toBe(isMeasured)
  },
)
