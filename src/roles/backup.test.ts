import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SqliteChannelStore } from '../payment/channels/sqlite-channel-store.ts'
import { SqliteLedger } from '../payment/ledger/sqlite-ledger.ts'
import { SCHEMA_VERSION } from '../payment/ledger/sqlite-schema.ts'
import { channelConfig } from '../payment/testing/channel-config.ts'
import { ledgerEntry, NOW_MS } from '../payment/testing/ledger-entry.ts'
import { fingerprintOf, MANIFEST_NAME } from '../store/backup-manifest.ts'
import { CheckpointDb } from '../store/checkpoint-db.ts'
import { beginRestore, checkRestored, claimDataDir, endSetAside } from '../store/data-dir.ts'
import { HistoryStore } from '../store/history-store.ts'
import { START_MS } from '../store/testing/history-rows.ts'
import { backup } from './backup.ts'
import { restore } from './restore.ts'

const CHANNEL: Hex = `0x${'ab'.repeat(32)}`
const CUT_OFF_AT = '2026-01-02T03:04:05.000Z'
const quiet = { copied: () => {}, checking: () => {}, end: () => {} }

let folder: string
let dataDir: string
let dir: string
let open: { close(): void }[]
let umask: number

beforeAll(() => {
  umask = process.umask()
})

afterAll(() => void process.umask(umask))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-backup-'))
  dataDir = join(folder, 'data')
  dir = join(folder, 'backup')
  open = []
  claimDataDir(dataDir, 'venue.example')
})

afterEach(() => {
  closeAll()
  rmSync(folder, { recursive: true })
})

function closeAll(): void {
  for (const each of open.splice(0)) each.close()
}

function ledgerAt(folderOfIt: string): SqliteLedger {
  const ledger = new SqliteLedger(join(folderOfIt, 'ledger.db'))
  open.push(ledger)
  return ledger
}

function sell(ledger: SqliteLedger, nonce: string): void {
  const entry = ledgerEntry(nonce)
  void ledger.begin(entry, NOW_MS)
  void ledger.move(entry.key, 'settled', `0x${nonce}`, NOW_MS)
}

/** A service at work, with everything that it keeps. */
function serving(): SqliteLedger {
  const ledger = ledgerAt(dataDir)
  sell(ledger, 'one')
  const channels = new SqliteChannelStore(join(dataDir, 'channels.db'))
  open.push(channels)
  const state = {
    balance: 1_000_000n,
    claimed: 0n,
    withdrawRequestedAtSeconds: 0,
    refundNonce: 0n,
  }
  void channels.mirror(CHANNEL, channelConfig, state, 0)
  const sums = { cumulative: 50_000n, amount: 50_000n }
  const signature: Hex = `0x${'1'.repeat(130)}`
  const { key: payment } = ledgerEntry('voucher')
  void channels.commit(
    { channelId: CHANNEL, payment, ...sums, signature, hash: 'a', transaction: '' },
    0,
  )
  const { db } = CheckpointDb.open(join(dataDir, 'engine.db'), NOW_MS)
  open.push({ close: () => db.close() })
  const history = new HistoryStore(
    { path: join(dataDir, 'history.db'), onNotice: () => undefined },
    START_MS,
  )
  open.push({ close: () => history.close(START_MS) })
  return ledger
}

async function run(
  command: typeof backup | typeof restore,
  options: { readonly json?: true; readonly dataDir?: string } = {},
): Promise<string> {
  let text = ''
  const write = (piece: string) => {
    text += piece
  }
  await command(dir, { dataDir, ...options }, { write, progress: quiet })
  return text
}

const modeOf = (path: string) => statSync(path).mode & 0o777

describe('a backup of a service at work', () => {
  test('holds every file, is for its owner alone, and sells on where it is restored', async () => {
    serving()
    expect(statSync(join(dataDir, 'ledger.db')).size, 'all of it is in the log').toBe(4_096)
    const report = JSON.parse(await run(backup, { json: true }))
    expect(report).toMatchObject({ ok: true, dir, payments: { settled: 1 }, left_out: [] })
    expect(report.files.map(({ name }: { name: string }) => name)).toEqual([
      ...['market', 'ledger.db', 'channels.db', 'engine.db', 'history.db'],
    ])
    expect(report.files[1]).toMatchObject({ schema_version: SCHEMA_VERSION })
    expect(modeOf(dir)).toBe(0o700)
    for (const name of readdirSync(dir)) expect(modeOf(join(dir, name)), name).toBe(0o600)
    expect(readdirSync(folder).sort(), 'nothing else is left').toEqual(['backup', 'data'])

    const other = join(folder, 'other')
    await run(restore, { dataDir: other })
    const restored = ledgerAt(other)
    const one = ledgerEntry('one')
    expect(await restored.find(one.key)).toMatchObject({ state: 'settled', answer: one.answer })
    sell(restored, 'two')
    const channels = new SqliteChannelStore(join(other, 'channels.db'))
    open.push(channels)
    expect(await channels.find(CHANNEL)).toMatchObject({ charged: 50_000n })
  })

  test('says in plain lines what it holds', async () => {
    serving()
    const text = await run(backup)
    expect(text).toMatch(/^ledger\.db: .* MB, verified, [0-9a-f]{64}$/m)
    expect(text).toMatch(/^payments until 20.*Z: 1 settled$/m)
  })

  test('replaces one of before, and keeps that where it fails', async () => {
    const ledger = serving()
    await run(backup)
    sell(ledger, 'two')
    expect(JSON.parse(await run(backup, { json: true })).payments).toEqual({ settled: 2 })
    closeAll()
    const before = readFileSync(join(dir, MANIFEST_NAME), 'utf8')
    writeFileSync(join(dataDir, 'ledger.db'), 'no ledger')
    await expect(run(backup)).rejects.toMatchObject({ code: 'file_not_copied' })
    expect(readFileSync(join(dir, MANIFEST_NAME), 'utf8')).toBe(before)
    expect(readdirSync(folder).sort()).toEqual(['backup', 'data'])
  })

  test('goes on where one was killed', async () => {
    serving()
    mkdirSync(`${dir}.partial`)
    writeFileSync(join(`${dir}.partial`, 'ledger.db'), 'half of it')
    await run(backup)
    expect(existsSync(`${dir}.partial`)).toBe(false)
  })

  test('leaves out what can be learnt again and is of no use', async () => {
    serving()
    closeAll()
    writeFileSync(join(dataDir, 'engine.db'), 'no checkpoint')
    const { left_out, files } = JSON.parse(await run(backup, { json: true }))
    expect(left_out).toEqual([{ name: 'engine.db', reason: expect.any(String) }])
    expect(files).toHaveLength(4)
  })
})

describe('a backup is refused', () => {
  test('to a folder with something else in it', async () => {
    serving()
    mkdirSync(dir)
    writeFileSync(join(dir, 'letter.txt'), 'dear')
    await expect(run(backup)).rejects.toThrow(/is not empty and not a backup of perpscope/)
    expect(readdirSync(dir)).toEqual(['letter.txt'])
  })

  test('into the data directory', async () => {
    serving()
    dir = join(dataDir, 'backup')
    await expect(run(backup)).rejects.toThrow(/contain one another/)
  })

  test('of an empty ledger, which would be no backup', async () => {
    writeFileSync(join(dataDir, 'ledger.db'), '')
    await expect(run(backup)).rejects.toThrow(/is not a ledger: it has no tables/)
    expect(existsSync(dir)).toBe(false)
  })

  test.each(['ledger.db', 'channels.db'])('where %s is only a link to nothing', async (name) => {
    serving()
    closeAll()
    rmSync(join(dataDir, name))
    symlinkSync(join(folder, 'not mounted', name), join(dataDir, name))
    await expect(run(backup)).rejects.toThrow(`${name} cannot be examined`)
    expect(existsSync(dir)).toBe(false)
  })

  test.each([
    ['a data directory', () => join(folder, 'loop', 'data'), () => dir],
    ['a target', () => dataDir, () => join(folder, 'loop', 'backup')],
  ])('for %s that cannot be examined, with the cause', async (_, from, to) => {
    serving()
    symlinkSync('loop', join(folder, 'loop'))
    dir = to()
    await expect(run(backup, { dataDir: from() })).rejects.toThrow(/ELOOP/)
  })

  test('while another one to the same place is at work', async () => {
    serving()
    mkdirSync(`${dir}.partial`)
    const other = new Database(join(`${dir}.partial`, 'lock'))
    open.push(other)
    other.exec('BEGIN EXCLUSIVE')
    await expect(run(backup)).rejects.toThrow(/another backup .* is running/)
  })
})

describe('a restore', () => {
  beforeEach(async () => {
    serving()
    await run(backup)
  })

  const ledgerBytes = () => readFileSync(join(dataDir, 'ledger.db'))

  test('is refused while a service has the data directory', async () => {
    await expect(run(restore)).rejects.toThrow(/a service uses .*: stop it first/)
  })

  test('keeps what was there before under a dated name', async () => {
    closeAll()
    const later = ledgerAt(dataDir)
    sell(later, 'later')
    closeAll()
    const { set_aside } = JSON.parse(await run(restore, { json: true }))
    expect(set_aside).toMatch(/before-restore-20\d\d-\d\d-\d\dT/)
    const now = ledgerAt(dataDir)
    expect(await now.find(ledgerEntry('later').key)).toBeNull()
    expect(await now.find(ledgerEntry('one').key)).not.toBeNull()
    const before = ledgerAt(set_aside)
    expect(await before.find(ledgerEntry('later').key)).not.toBeNull()
  })

  test('says what follows for payments that came later', async () => {
    closeAll()
    expect(await run(restore)).toMatch(/used on chain, it is refused \(409\) and not charged again/)
  })

  test.each([
    ['a file that was changed', () => change('ledger.db', (bytes) => bytes.fill(0xff, 4_096))],
    ['a file that was cut', () => change('channels.db', (bytes) => bytes.subarray(0, 4_096))],
    ['a file that is gone', () => rmSync(join(dir, 'history.db'))],
    ['a manifest that is cut', () => change(MANIFEST_NAME, (bytes) => bytes.subarray(0, 100))],
  ])('of %s is refused, and changes nothing', async (_what, damage) => {
    closeAll()
    const before = ledgerBytes()
    damage()
    await expect(run(restore)).rejects.toMatchObject({ code: 'backup_damaged' })
    expect(ledgerBytes()).toEqual(before)
  })

  test.each([
    ['ledger.db', 'ledger_version'],
    ['channels.db', 'channels_version'],
    ['history.db', 'file_unusable'],
  ])('of a %s of a later schema is refused, and changes nothing', async (name, code) => {
    closeAll()
    const before = ledgerBytes()
    const db = new Database(join(dir, name))
    db.pragma('user_version = 99')
    db.close()
    await resign(name)
    await expect(run(restore)).rejects.toMatchObject({ code })
    expect(ledgerBytes()).toEqual(before)
  })

  test('of an answer that is not what was stored is refused', async () => {
    closeAll()
    const db = new Database(join(dir, 'ledger.db'))
    db.exec("UPDATE answers SET body = X'00'")
    db.close()
    await resign('ledger.db')
    await expect(run(restore)).rejects.toThrow(/is damaged: a stored answer/)
  })

  test('of a later format, and of a folder that is none, is refused', async () => {
    closeAll()
    change(MANIFEST_NAME, (bytes) =>
      // A later format may have other names.
      Buffer.from(
        bytes.toString().replace('"format": 1', '"format": 2').replaceAll('"sha256"', '"blake3"'),
      ),
    )
    await expect(run(restore)).rejects.toMatchObject({ code: 'backup_newer' })
    rmSync(join(dir, MANIFEST_NAME))
    await expect(run(restore)).rejects.toThrow(/is not a backup of perpscope/)
  })

  test('of a manifest without files is refused, and changes nothing', async () => {
    closeAll()
    const before = ledgerBytes()
    change(MANIFEST_NAME, (bytes) =>
      Buffer.from(JSON.stringify({ ...JSON.parse(bytes.toString()), files: [] })),
    )
    await expect(run(restore)).rejects.toMatchObject({ code: 'backup_damaged' })
    expect(ledgerBytes()).toEqual(before)
  })

  test('that was cut off keeps a service from starting until it was run again', async () => {
    closeAll()
    beginRestore(dataDir, CUT_OFF_AT)
    rmSync(join(dataDir, 'ledger.db'))
    expect(() => checkRestored(dataDir)).toThrow(/run perpscope restore again/)
    await run(restore)
    checkRestored(dataDir)
    expect((await ledgerAt(dataDir).counts()).settled).toBe(1)
  })

  test('that was cut off between a ledger and its log leaves both in one folder', async () => {
    const [file, log] = ['', '-wal'].map((suffix) => join(dataDir, `ledger.db${suffix}`)) as [
      string,
      string,
    ]
    const [bytes, logged] = [readFileSync(file), readFileSync(log)]
    closeAll()
    const aside = join(dataDir, beginRestore(dataDir, CUT_OFF_AT))
    mkdirSync(aside)
    writeFileSync(join(aside, 'ledger.db'), bytes)
    rmSync(file)
    writeFileSync(log, logged)
    expect(JSON.parse(await run(restore, { json: true })).set_aside).toBe(aside)
    expect(await ledgerAt(aside).find(ledgerEntry('one').key)).not.toBeNull()
  })

  test('that was cut off between a link and its removal is continued', async () => {
    closeAll()
    const place = join(folder, 'other-disk.db')
    renameSync(join(dataDir, 'ledger.db'), place)
    symlinkSync(place, join(dataDir, 'ledger.db'))
    const aside = join(dataDir, beginRestore(dataDir, CUT_OFF_AT))
    mkdirSync(aside)
    symlinkSync(place, join(aside, 'ledger.db'))
    await run(restore)
    expect(realpathSync(join(aside, 'ledger.db'))).toBe(realpathSync(place))
  })

  test('that was cut off later does not replace the files that were set aside', async () => {
    closeAll()
    const later = ledgerAt(dataDir)
    sell(later, 'later')
    closeAll()
    const aside = join(dataDir, beginRestore(dataDir, CUT_OFF_AT))
    mkdirSync(aside)
    renameSync(join(dataDir, 'ledger.db'), join(aside, 'ledger.db'))
    endSetAside(dataDir)
    cpSync(join(dir, 'ledger.db'), join(dataDir, 'ledger.db'))
    await run(restore)
    expect(await ledgerAt(aside).find(ledgerEntry('later').key)).not.toBeNull()
  })

  test('from a folder that may only be read', async () => {
    closeAll()
    chmodSync(dir, 0o500)
    await run(restore)
    expect((await ledgerAt(dataDir).counts()).settled).toBe(1)
  })

  test.skipIf(process.getuid?.() !== 0)(
    'by root leaves every file to the owner of the data directory (needs root)',
    async () => {
      closeAll()
      chownSync(dataDir, 1_000, 1_000)
      await run(restore)
      const names = readdirSync(dataDir)
      const others = names.filter((name) => statSync(join(dataDir, name)).uid !== 1_000)
      expect(names).toContain('ledger.db')
      expect(others).toEqual([])
    },
  )

  function change(name: string, task: (bytes: Buffer) => Buffer): void {
    const path = join(dir, name)
    writeFileSync(path, task(readFileSync(path)))
  }

  /** As if the backup had been made of the file as it is now. */
  async function resign(name: string): Promise<void> {
    const path = join(dir, MANIFEST_NAME)
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    for (const file of manifest.files)
      if (file.name === name) Object.assign(file, await fingerprintOf(join(dir, name)))
    writeFileSync(path, JSON.stringify(manifest))
  }
})
