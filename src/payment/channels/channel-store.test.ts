import { cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import { channelConfig as config } from '../testing/channel-config.ts'
import type { ChannelState } from './channel.ts'
import type { VoucherSale } from './channel-store.ts'
import { ChannelStore, claimOf, inspectChannels } from './channel-store.ts'

const ID: Hex = `0x${'ab'.repeat(32)}`
const deposited: ChannelState = {
  balance: 1_000n,
  claimed: 0n,
  withdrawRequestedAtSeconds: 0,
  refundNonce: 0n,
}

const stores: ChannelStore[] = []
const folders: string[] = []

afterEach(() => {
  for (const store of stores.splice(0)) store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function open(path = ':memory:'): ChannelStore {
  const store = new ChannelStore(path)
  stores.push(store)
  return store
}

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-channels-'))
  folders.push(folder)
  return join(folder, 'channels.db')
}

function sale(cumulative: bigint, amount = 100n): VoucherSale {
  return {
    channelId: ID,
    cumulative,
    amount,
    signature: `0x${cumulative.toString(16).padStart(130, '0')}`,
    hash: `hash of ${cumulative}`,
    transaction: '',
  }
}

/** A channel with a deposit of 1,000 of which `charged` is sold. */
function sold(charged: bigint, store = open()): ChannelStore {
  store.mirror(ID, config, deposited, 1)
  if (charged > 0n) expect(store.commit(sale(charged, charged), 2)).toBe('committed')
  return store
}

describe('a voucher', () => {
  test('is accepted if it continues from the current sum, and survives a restart', () => {
    const path = file()
    const store = new ChannelStore(path)
    sold(300n, store)
    expect(store.commit(sale(400n), 3)).toBe('committed')
    store.close()
    const again = open(path)
    expect(again.find(ID)).toMatchObject({ charged: 400n, signature: sale(400n).signature })
    expect(again.sale(ID, 400n)).toEqual({ hash: 'hash of 400', transaction: '', soldMs: 3 })
    expect(again.sale(ID, 300n)).toEqual({ hash: 'hash of 300', transaction: '', soldMs: 2 })
    expect(statSync(path).mode & 0o077, 'nobody else reads it').toBe(0)
  })

  test.each([300n, 200n, 399n, 401n, 500n])('over %i does not go on from 300 by 100', (sum) => {
    const store = sold(300n)
    expect(store.commit(sale(sum), 3)).toBe('counted')
    expect(store.find(ID)).toMatchObject({ charged: 300n, signature: sale(300n).signature })
    expect(store.sale(ID, 400n)).toBeNull()
  })

  test('above the deposit is not taken', () => {
    const store = sold(950n)
    expect(store.commit(sale(1_050n), 3)).toBe('uncovered')
    expect(store.commit(sale(1_000n, 50n), 3)).toBe('committed')
  })

  test('is not taken while a withdrawal is announced', () => {
    const store = sold(300n)
    store.mirror(ID, config, { ...deposited, withdrawRequestedAtSeconds: 7 }, 3)
    expect(store.commit(sale(400n), 4)).toBe('uncovered')
    store.mirror(ID, config, deposited, 5)
    expect(store.commit(sale(400n), 6)).toBe('committed')
  })

  test('is not taken while a refund is under way, nor after a restart, until the chain counts it', () => {
    const path = file()
    const store = new ChannelStore(path)
    sold(300n, store)
    store.refunding(ID, 0n)
    expect(store.commit(sale(400n), 3)).toBe('uncovered')
    store.close()
    const again = open(path)
    expect(again.commit(sale(400n), 4)).toBe('uncovered')
    again.mirror(ID, config, { ...deposited, balance: 900n, refundNonce: 1n }, 5)
    expect(again.commit(sale(400n), 6)).toBe('committed')
    again.refunding(ID, 1n)
    again.refunding(ID, null)
    expect(again.commit(sale(500n), 7), 'a refund that never left').toBe('committed')
  })

  test('on a new channel continues from the sum that its payer states, never below the claimed sum', () => {
    const store = open()
    store.mirror(ID, config, { ...deposited, claimed: 200n }, 1)
    expect(store.commit(sale(250n), 2)).toBe('counted')
    expect(store.commit(sale(600n), 2)).toBe('committed')
    expect(store.commit(sale(800n), 3), 'from then on it is counted').toBe('counted')
  })
})

describe('the mirror of the chain', () => {
  test('forgets no voucher, and knows when all is claimed', () => {
    const store = sold(300n)
    expect(store.find(ID)?.unclaimedSinceMs).toBe(2)
    store.commit(sale(400n), 9)
    expect(store.find(ID)?.unclaimedSinceMs, 'the oldest counts').toBe(2)
    store.mirror(ID, config, { ...deposited, claimed: 300n }, 10)
    expect(store.find(ID)).toMatchObject({ charged: 400n, claimed: 300n, unclaimedSinceMs: 2 })
    store.mirror(ID, config, { ...deposited, claimed: 400n }, 11)
    const channel = store.find(ID)
    expect(channel).toMatchObject({ charged: 400n, unclaimedSinceMs: null })
    expect(channel && claimOf(channel)).toBeNull()
  })

  test('that is ahead of us, as after an old backup, takes the place of our count', () => {
    const store = sold(300n)
    store.mirror(ID, config, { ...deposited, claimed: 500n }, 3)
    expect(store.find(ID)).toMatchObject({ charged: 500n, signature: null })
    expect(store.commit(sale(600n), 4)).toBe('committed')
  })

  test('does not remember channels without money', () => {
    const store = open()
    expect(store.mirror(ID, config, { ...deposited, balance: 0n }, 1)).toBeNull()
    expect(store.channels()).toEqual([])
  })
})

test('old sales are forgotten, the count is not', () => {
  const store = sold(300n)
  const days = 86_400_000
  store.sweep(7 * days, 10)
  expect(store.sale(ID, 300n)).not.toBeNull()
  store.sweep(9 * days, 10)
  expect(store.sale(ID, 300n)).toBeNull()
  expect(store.find(ID)?.charged).toBe(300n)
})

describe('a file that cannot be trusted', () => {
  test('that another program has locked is not opened', () => {
    const path = file()
    const db = new Database(path)
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('CREATE TABLE held (id INTEGER)')
    expect(() => new ChannelStore(path)).toThrow(/are locked by another program/)
    db.close()
  })

  test('of a later version is not opened', () => {
    const path = file()
    const db = new Database(path)
    db.pragma('user_version = 99')
    db.close()
    expect(() => new ChannelStore(path)).toThrow(/schema 99/)
  })

  test('that is no database is not opened', () => {
    const path = file()
    writeFileSync(path, 'not a database'.repeat(1_000))
    expect(() => new ChannelStore(path)).toThrow(/cannot be used/)
  })
})

describe('looking into the channels of a service', () => {
  test('reports the sold and unclaimed sum, also after a kill', () => {
    const path = file()
    const store = open(path)
    store.mirror(ID, config, { ...deposited, claimed: 100n }, 0)
    store.commit(sale(200n), 0)
    store.commit(sale(300n), 0)
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
