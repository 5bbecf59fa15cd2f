import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SqliteChannelStore } from '../../payment/channels/sqlite-channel-store.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import { MOVED_VERSION } from '../../payment/ledger/sqlite-schema.ts'
import { channelConfig } from '../../payment/testing/channel-config.ts'
import { ledgerEntry } from '../../payment/testing/ledger-entry.ts'
import { claimDataDir } from '../../store/data-dir.ts'
import { HistoryStore } from '../../store/history-store.ts'
import { START_MS } from '../../store/testing/history-rows.ts'
import {
  checkChannels,
  checkCheckpoint,
  checkDataDir,
  checkHistory,
  checkLedger,
  checkSetAside,
} from './files.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perpscope-doctor-files-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

describe('the room that is left', () => {
  test.each([
    [511e6, 'fail', '511.0 MB free'],
    [512e6, 'warn', '512.0 MB free'],
    [1.99e9, 'warn', '2.0 GB free'],
    [2e9, 'ok', '2.0 GB free'],
  ])('%d bytes: %s', (freeBytes, status, found) => {
    const finding = checkDataDir(dataDir, 'venue', () => freeBytes)
    expect(finding).toMatchObject({ status, found: expect.stringContaining(found) })
    const advice = status === 'ok' ? null : expect.stringContaining('free disk space')
    expect(finding.advice).toEqual(advice)
  })

  test('is asked of the disk that an absent folder would be made on', () => {
    const asked: string[] = []
    const absent = join(dataDir, 'not', 'yet')
    checkDataDir(absent, 'venue', (folder) => {
      asked.push(folder)
      return 3e9
    })
    expect(asked).toEqual([dataDir])
  })
})

describe('a data directory', () => {
  test('whose market cannot be read is a finding, and no error', () => {
    mkdirSync(join(dataDir, 'market'))
    expect(checkDataDir(dataDir, 'venue')).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^cannot be used: .* cannot be read: EISDIR/),
    })
  })

  test('that is a dangling link is a failure', () => {
    const link = join(dataDir, 'link')
    symlinkSync(join(dataDir, 'nowhere'), link)
    expect(checkDataDir(link, 'venue')).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^cannot be used: ENOENT/),
      advice: expect.stringMatching(/^it is a dangling link/),
    })
    expect(() => claimDataDir(link, 'venue'), 'and serve cannot').toThrow('ENOENT')
  })
})

test('a dangling link among the files set aside is reported', () => {
  symlinkSync(join(dataDir, 'nowhere'), join(dataDir, 'history.db.corrupt-1'))
  expect(checkSetAside(dataDir)).toMatchObject({
    status: 'warn',
    found: expect.stringContaining('history.db.corrupt-1'),
  })
})

describe('a file that cannot be read', () => {
  test('is reported neither as damaged nor as set aside by serve', () => {
    const path = join(dataDir, 'history.db')
    new HistoryStore({ path, onNotice: () => undefined }, START_MS).close(START_MS)
    // Whoever only reads makes this file beside it, which a full disk refuses as well.
    symlinkSync(join(dataDir, 'nowhere'), `${path}-shm`)
    expect(checkHistory(dataDir)).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^cannot be checked: unable to open database file/),
      advice: expect.stringMatching(/^run doctor as the user of the service/),
    })
  })
})

describe('a dangling link', () => {
  test.each([
    ['engine.db', () => checkCheckpoint(dataDir, 0)],
    ['history.db', () => checkHistory(dataDir)],
    ['ledger.db', () => checkLedger(dataDir)],
    ['channels.db', () => checkChannels(dataDir, true)],
  ])('is not taken for a %s that is not there yet', (name, check) => {
    symlinkSync(join(dataDir, 'nowhere'), join(dataDir, name))
    expect(check()).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('ENOENT'),
      advice: expect.stringMatching(/^it is a dangling link/),
    })
  })
})

describe('the ledger', () => {
  const path = () => join(dataDir, 'ledger.db')

  test('that cannot be read may be intact: no restore is advised', () => {
    void new SqliteLedger(path()).close()
    // As above.
    symlinkSync(join(dataDir, 'nowhere'), `${path()}-shm`)
    expect(checkLedger(dataDir)).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^cannot be checked: .*unable to open database file$/),
      advice: expect.stringMatching(/^run doctor as the user of the service/),
    })
  })

  test('that cannot even be opened is a finding, and no error', () => {
    mkdirSync(path())
    expect(checkLedger(dataDir)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('ledger.db cannot be read: disk I/O error'),
    })
  })

  test('of which only the file without its log was copied is empty, and no ledger', () => {
    const service = new SqliteLedger(path())
    const copy = mkdtempSync(join(tmpdir(), 'perpscope-copy-'))
    copyFileSync(path(), join(copy, 'ledger.db'))
    void service.close()
    expect(statSync(join(copy, 'ledger.db')).size).toBe(4_096)
    expect(checkLedger(copy)).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('is not a ledger: it has no tables (4096 bytes)'),
      advice: expect.stringContaining('restore a backup first'),
    })
    rmSync(copy, { recursive: true })
  })

  test.each([
    ['a text', () => writeFileSync(path(), 'day,usdc\n'.repeat(1_000))],
    ['4096 bytes of nothing', () => writeFileSync(path(), Buffer.alloc(4_096))],
    ['a database of another program', () => writeForeign()],
  ])('that is %s is no ledger', (_what, write) => {
    write()
    expect(checkLedger(dataDir)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('is not a ledger'),
    })
  })

  test.each([
    ['an earlier version is migrated by serve', 1, 'warn', /serve keeps a copy/],
    ['a later version refuses the start', 99, 'fail', /serve would not start/],
    ['that was moved to PostgreSQL refuses the start', MOVED_VERSION, 'fail', /would not start/],
  ] as const)('of %s', (_what, version, status, advice) => {
    void new SqliteLedger(path()).close()
    const db = new Database(path())
    db.pragma(`user_version = ${version}`)
    db.close()
    expect(checkLedger(dataDir)).toMatchObject({
      status,
      advice: expect.stringMatching(advice),
    })
  })

  function writeForeign(): void {
    const db = new Database(path())
    db.exec('CREATE TABLE sales (id INTEGER)')
    db.close()
  }

  test('that is damaged keeps serve from starting', () => {
    void new SqliteLedger(path()).close()
    writeFileSync(path(), readFileSync(path()).fill(0xff, 4_096))
    expect(checkLedger(dataDir)).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/damaged|malformed/),
      advice: expect.stringMatching(/^serve would not start: keep the file/),
    })
  })
})

describe('payment channels', () => {
  const path = () => join(dataDir, 'channels.db')
  const ID: Hex = `0x${'ab'.repeat(32)}`

  /** One channel, on which 0.05 USDC were sold. */
  function sell(): SqliteChannelStore {
    const store = new SqliteChannelStore(path())
    const state = {
      balance: 1_000_000n,
      claimed: 0n,
      withdrawRequestedAtSeconds: 0,
      refundNonce: 0n,
    }
    void store.mirror(ID, channelConfig, state, 0)
    const amounts = { cumulative: 50_000n, amount: 50_000n, payment: ledgerEntry('voucher').key }
    void store.commit(
      { channelId: ID, ...amounts, signature: `0x${'1'.repeat(130)}`, hash: 'a', transaction: '' },
      0,
    )
    return store
  }

  test('of which only the file without its log was copied are empty, and money may be missing', () => {
    const store = sell()
    const copy = mkdtempSync(join(tmpdir(), 'perpscope-copy-'))
    copyFileSync(path(), join(copy, 'channels.db'))
    store.close()
    for (const areOn of [true, false])
      expect(checkChannels(copy, areOn)).toMatchObject({
        status: 'warn',
        found: expect.stringMatching(/is empty \(.* bytes\): it contains no channels/),
        advice: expect.stringContaining('restore a backup first'),
      })
    rmSync(copy, { recursive: true })
  })

  test('are not spoken of where there are none and none are wanted', () => {
    expect(checkChannels(dataDir, false)).toBeNull()
    expect(checkChannels(dataDir, true)).toMatchObject({ status: 'ok' })
  })

  test('tell what is not claimed, and warn where nobody will claim it', () => {
    sell().close()
    const found = expect.stringContaining('1 channels, 0.05 USDC not claimed')
    expect(checkChannels(dataDir, true)).toMatchObject({ status: 'ok', found })
    expect(checkChannels(dataDir, false)).toMatchObject({
      status: 'warn',
      found,
      advice: expect.stringContaining('--payment-channels on'),
    })
  })

  test('are read while a service uses them', () => {
    const store = sell()
    expect(checkChannels(dataDir, true)).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('1 channels, 0.05 USDC not claimed'),
    })
    store.close()
  })

  test('that cannot be read may be intact: no restore is advised', () => {
    sell().close()
    // As above.
    symlinkSync(join(dataDir, 'nowhere'), `${path()}-shm`)
    const found = expect.stringMatching(/^cannot be checked: .*unable to open database file$/)
    const advice = expect.stringMatching(/^run doctor as the user of the service/)
    expect(checkChannels(dataDir, true)).toMatchObject({ status: 'fail', found, advice })
    expect(checkChannels(dataDir, false)).toMatchObject({ status: 'warn', found, advice })
  })

  test('that are damaged keep serve from starting, or nobody can claim them', () => {
    writeFileSync(path(), 'x'.repeat(8_192))
    expect(checkChannels(dataDir, true)).toMatchObject({
      status: 'fail',
      advice: expect.stringMatching(/^serve would not start: keep the file/),
    })
    expect(checkChannels(dataDir, false)).toMatchObject({
      status: 'warn',
      advice: expect.stringContaining('cannot be claimed'),
    })
  })
})
