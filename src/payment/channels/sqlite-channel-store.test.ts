import { cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import { channelConfig as config } from '../testing/channel-config.ts'
import { ledgerEntry } from '../testing/ledger-entry.ts'
import type { ChannelState } from './channel.ts'
import { inspectChannels, SqliteChannelStore } from './sqlite-channel-store.ts'

const ID: Hex = `0x${'ab'.repeat(32)}`
const deposited: ChannelState = {
  balance: 1_000n,
  claimed: 0n,
  withdrawRequestedAtSeconds: 0,
  refundNonce: 0n,
}

const stores: SqliteChannelStore[] = []
const folders: string[] = []

afterEach(() => {
  for (const store of stores.splice(0)) store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function open(path: string): SqliteChannelStore {
  const store = new SqliteChannelStore(path)
  stores.push(store)
  return store
}

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-channels-'))
  folders.push(folder)
  return join(folder, 'channels.db')
}

const sale = (cumulative: bigint) => ({
  channelId: ID,
  payment: ledgerEntry('voucher').key,
  cumulative,
  amount: 100n,
  signature: `0x${cumulative.toString(16).padStart(130, '0')}` as Hex,
  hash: `hash of ${cumulative}`,
  transaction: '',
})

test('a voucher and a refund in progress survive a restart, in a file for its owner alone', async () => {
  const path = file()
  const store = new SqliteChannelStore(path)
  await store.mirror(ID, config, deposited, 1)
  expect(await store.commit(sale(100n), 2)).toBe('committed')
  expect(await store.commit(sale(200n), 3)).toBe('committed')
  const before = await store.find(ID)
  if (before === null) throw new Error('it is stored')
  expect(await store.beginRefund(before)).toBe('begun')
  store.close()
  const again = open(path)
  expect(await again.find(ID)).toEqual({ ...before, refundSent: 0n })
  expect(await again.sale(ID, 200n)).toEqual({ hash: 'hash of 200', transaction: '', soldMs: 3 })
  expect(await again.commit(sale(300n), 4)).toBe('uncovered')
  expect(statSync(path).mode & 0o077, 'nobody else reads it').toBe(0)
})

describe('a file that cannot be trusted', () => {
  test('that another program has locked is not opened', () => {
    const path = file()
    const db = new Database(path)
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('CREATE TABLE held (id INTEGER)')
    expect(() => new SqliteChannelStore(path)).toThrow(/are locked by another program/)
    db.close()
  })

  test('of a later version is not opened', () => {
    const path = file()
    const db = new Database(path)
    db.pragma('user_version = 99')
    db.close()
    expect(() => new SqliteChannelStore(path)).toThrow(/schema 99/)
  })

  test('that is no database is not opened', () => {
    const path = file()
    writeFileSync(path, 'not a database'.repeat(1_000))
    expect(() => new SqliteChannelStore(path)).toThrow(/cannot be used/)
  })
})

describe('looking into the channels of a service', () => {
  test('reports the sold and unclaimed sum, also after a kill', async () => {
    const path = file()
    const store = open(path)
    await store.mirror(ID, config, { ...deposited, claimed: 100n }, 0)
    await store.commit(sale(200n), 0)
    await store.commit(sale(300n), 0)
    const readable = { state: 'readable', version: 1, channels: 1, unclaimed: 200n }
    expect(inspectChannels(path), 'while it runs').toEqual(readable)
    // The lock is not copied, as it would not survive; the log is.
    const left = file()
    for (const suffix of ['', '-wal']) cpSync(path + suffix, left + suffix)
    expect(inspectChannels(left)).toEqual(readable)
    store.close()
    expect(inspectChannels(path)).toEqual(readable)
  })

  test('takes one that was never begun for an empty one', () => {
    const path = file()
    writeFileSync(path, '')
    expect(inspectChannels(path)).toEqual({ state: 'empty' })
  })

  test('says of a damaged one what a service would say', () => {
    const path = file()
    open(path).close()
    writeFileSync(path, 'x'.repeat(8_192))
    expect(() => inspectChannels(path)).toThrow(/cannot be used/)
  })
})
