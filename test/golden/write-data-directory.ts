/**
 * Writes the data directory that `test/data-upgrade.test.ts` opens: `npx tsx test/golden/write-data-directory.ts`, once
 * for a release and never again, with the code of that release.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteChannelStore } from '../../src/payment/channels/sqlite-channel-store.ts'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import { channelConfig } from '../../src/payment/testing/channel-config.ts'
import { ledgerEntry, NOW_MS } from '../../src/payment/testing/ledger-entry.ts'
import { SimulatedService } from '../support/simulated-service.ts'

const VERSION = '0.1.0'

const folder = mkdtempSync(join(tmpdir(), 'perpscope-data-'))
try {
  const service = new SimulatedService({ seed: 5, coins: 1, dataDir: folder, version: VERSION })
  service.run(120)
  service.stop()
  const dataDir = join(folder, 'data')
  const ledger = new SqliteLedger(join(dataDir, 'ledger.db'))
  for (const state of ['settled', 'unknown', 'unconfirmed', 'released', 'lost'] as const) {
    const entry = ledgerEntry(state)
    await ledger.begin({ ...entry, identifier: `order-${state}` }, NOW_MS)
    await ledger.move(entry.key, state, state === 'settled' ? '0xabc' : null, NOW_MS)
  }
  await ledger.close()
  const channels = new SqliteChannelStore(join(dataDir, 'channels.db'))
  const state = { balance: 100n, claimed: 10n, withdrawRequestedAtSeconds: 0, refundNonce: 0n }
  await channels.mirror('0xc1', channelConfig, state, NOW_MS)
  const sale = { channelId: '0xc1', cumulative: 30n, amount: 20n, signature: '0x51' } as const
  const { key: payment } = ledgerEntry('voucher')
  await channels.commit({ ...sale, payment, hash: 'h', transaction: '' }, NOW_MS)
  channels.close()
  const target = join(import.meta.dirname, `data-${VERSION}.tar.gz`)
  execFileSync('sh', [
    '-c',
    'tar -C "$0" --exclude=*-lock -cf - . | gzip -9n > "$1"',
    dataDir,
    target,
  ])
} finally {
  rmSync(folder, { recursive: true })
}
