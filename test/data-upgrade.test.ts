import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SqliteChannelStore } from '../src/payment/channels/sqlite-channel-store.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { ledgerEntry, NOW_MS } from '../src/payment/testing/ledger-entry.ts'
import { versionedFiles } from '../src/roles/backup/data-files.ts'
import { beginVersion, checkDataVersions } from '../src/store/data-versions.ts'
import { inspectHistory } from '../src/store/history-inspection.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { SimulatedService } from './support/simulated-service.ts'

/** Written by that version: `write-data-directory.ts`. */
const FIXTURE = join(import.meta.dirname, 'golden/data-0.1.0.tar.gz')
const THIS = '0.2.0'
/** Of the run that wrote the fixture. */
const WRITTEN_MS = Date.UTC(2026, 9, 7, 15, 9)

let folder: string
let dataDir: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-upgrade-'))
  dataDir = join(folder, 'data')
  execFileSync('mkdir', [dataDir])
  execFileSync('tar', ['-xzf', FIXTURE, '-C', dataDir])
})

afterEach(() => rmSync(folder, { recursive: true }))

/** As a start of this version. */
function begin(files = versionedFiles, version = THIS): readonly string[] {
  checkDataVersions(dataDir, files, version)
  return beginVersion(dataDir, files, version)
}

async function checkMoney(): Promise<void> {
  const ledger = new SqliteLedger(join(dataDir, 'ledger.db'))
  const settled = ledgerEntry('settled')
  expect(await ledger.find(settled.key)).toMatchObject({
    ...{ state: 'settled', transaction: '0xabc', answer: settled.answer },
  })
  expect(await ledger.begin(settled, NOW_MS)).toEqual({ kind: 'taken' })
  expect(await ledger.findByIdentifier('0xB', 'order-unknown')).toMatchObject({ nonce: 'unknown' })
  expect(await ledger.counts()).toMatchObject({ settled: 1, unknown: 1, unconfirmed: 1, lost: 1 })
  await ledger.close()
  const channels = new SqliteChannelStore(join(dataDir, 'channels.db'))
  expect(await channels.unclaimed()).toMatchObject([
    { id: '0xc1', charged: 30n, signature: '0x51' },
  ])
  channels.close()
}

test('a data directory of version 0.1.0 is continued: money, history and the state of the engine', async () => {
  begin()
  await checkMoney()
  const history = new HistoryStore(
    { path: join(dataDir, 'history.db'), onNotice: () => {} },
    WRITTEN_MS,
  )
  expect(history.bars('BTC', 0).length).toBeGreaterThan(19 * 24)
  history.close(WRITTEN_MS)
  const service = new SimulatedService({
    ...{ seed: 5, coins: 1, dataDir: folder, version: THIS, startMs: WRITTEN_MS + 60_000 },
  })
  expect(service.replica.document('pulse/BTC')?.renderedAtMs, 'without a warm-up').toEqual(
    expect.any(Number),
  )
  service.run(20)
  service.stop()
  expect(readdirSync(dataDir).filter((name) => name.includes('corrupt'))).toEqual([])
})

test('a history of version 0.1.0 is readable before its migration, so that a backup before the upgrade has it', () => {
  expect(inspectHistory(join(dataDir, 'history.db'))).toMatchObject({
    ...{ state: 'readable', version: 3, found: { damagedBlocks: 0 } },
  })
})

test('a migrated file has its copy, is refused by the version before, and goes back', async () => {
  // A later version, which knows one schema more of each file.
  const later = versionedFiles.map((file) => ({ ...file, schema: file.schema + 1 }))
  begin()
  const copied = begin(later, '0.3.0')
  expect(copied.map((line) => /([a-z]+\.db) is migrated/.exec(line)?.[1])).toEqual([
    ...['ledger.db', 'channels.db', 'history.db'],
  ])
  const found = readdirSync(dataDir)
  for (const { name, schema } of later.filter((file) => found.includes(file.name))) {
    const db = new Database(join(dataDir, name))
    db.pragma(`user_version = ${schema}`)
    db.exec('CREATE TABLE later (id INTEGER)')
    db.close()
  }
  expect(() => begin()).toThrow(
    /ledger\.db has schema 4, written by perpscope 0\.3\.0; this is perpscope 0\.2\.0, which knows schema 3\. Start that version, or move ledger\.db .*ledger\.db\.schema-3 to its place/,
  )
  for (const name of readdirSync(dataDir))
    if (/\.schema-\d+$/.test(name))
      renameSync(join(dataDir, name), join(dataDir, name.replace(/\.schema-\d+$/, '')))
  // The checkpoint and the documents have no copy: they are made again.
  expect(() => begin()).toThrow(
    /engine\.db has schema 2.*or move engine\.db .* away; it is made again/,
  )
  for (const name of ['engine.db', 'documents.db']) rmSync(join(dataDir, name))
  expect(begin).not.toThrow()
  await checkMoney()
})

test('a file of an unknown version leaves the directory as it is', () => {
  rmSync(join(dataDir, 'ledger.db'))
  const db = new Database(join(dataDir, 'history.db'))
  db.pragma('user_version = 99')
  db.close()
  // Reading leaves the empty logs of SQLite.
  const names = () => readdirSync(dataDir).filter((name) => !/-(shm|wal)$/.test(name))
  const before = names()
  expect(() => begin()).toThrow(/written by a later version of perpscope/)
  expect(names()).toEqual(before)
})

test('a copy that cannot be made refuses the start, and changes nothing', async () => {
  const later = versionedFiles.map((file) => ({ ...file, schema: file.schema + 1 }))
  execFileSync('mkdir', [join(dataDir, 'ledger.db.schema-3')])
  writeFileSync(join(dataDir, 'ledger.db.schema-3', 'file'), '')
  expect(() => begin(later, '0.3.0')).toThrow(/cannot be copied to .*schema-3 before its migration/)
  await checkMoney()
})
