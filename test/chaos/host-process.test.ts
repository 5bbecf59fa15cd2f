import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ManualClock } from '../support/manual-clock.ts'
import { HostProcess } from './host-process.ts'

test('the patience of buyers counts uptime only, without the time of a restart', async () => {
  const clock = new ManualClock(0)
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-chaos-host-'))
  const host = await HostProcess.built(clock, {
    port: 0,
    ledgerPath: join(folder, 'ledger.db'),
    payTo: `0x${'11'.repeat(20)}`,
    rpcUrl: 'http://127.0.0.1:9',
    facilitatorUrls: ['http://127.0.0.1:9'],
    priceUsdcAtomic: '10000',
    defect: null,
  })
  try {
    expect(host.servedMs).toBe(0)
    await host.start()
    clock.advance(5_000)
    expect(host.servedMs).toBe(5_000)
    await host.kill()
    clock.advance(60_000)
    expect(host.servedMs).toBe(5_000)
    await host.start()
    clock.advance(1_000)
    expect(host.servedMs).toBe(6_000)
  } finally {
    await host.close()
    rmSync(folder, { recursive: true })
  }
})
