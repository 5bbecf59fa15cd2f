import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database, { SqliteError } from 'better-sqlite3'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { BlockChains } from '../domain/block-chains.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import type { PackedDocument } from '../domain/packed-document.ts'
import { packDocument } from '../domain/packed-document.ts'
import { DocumentMemory, newDocumentMemory, PlacedDocument } from '../domain/placed-document.ts'
import { DocumentStore } from '../store/document-store.ts'
import { DocumentKeeper } from './document-keeper.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

describe('documents for the next engine', () => {
  let dataDir: string
  let clock: ManualClock
  let logged: string[]

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'perpscope-keeper-'))
    clock = new ManualClock(NOW_MS)
    logged = []
  })

  afterEach(() => rmSync(dataDir, { recursive: true }))

  test('are those of coins that are listed, and of the whole market', () => {
    kept(['pulse/BTC', 'pulse/GONE', 'screener/*'])
    const after = keeper()
    expect(keysOf(after.kept(['BTC', 'ETH']))).toEqual(['pulse/BTC', 'screener/*'])
    after.stop()
  })

  test('are not sent after a restart of the engine alone', () => {
    kept(['pulse/BTC'])
    const after = keeper({ isRestart: true })
    expect([...after.kept(['BTC'])]).toEqual([])
    after.stop()
  })

  test('are saved once a minute', () => {
    const living = keeper()
    living.add([document('pulse/BTC')])
    const knownIfKilled = () => {
      const copy = mkdtempSync(join(dataDir, 'copy-'))
      for (const file of ['documents.db', 'documents.db-wal'])
        cpSync(join(dataDir, file), join(copy, file))
      const next = keeper({ dataDir: copy })
      const known = keysOf(next.kept(['BTC']))
      next.stop()
      return known
    }
    clock.advance(MINUTE_MS - 1)
    expect(knownIfKilled()).toEqual([])
    clock.advance(1)
    expect(knownIfKilled()).toEqual(['pulse/BTC'])
    living.stop()
  })

  test('are deleted if the clock was set', () => {
    kept(['pulse/BTC'])
    const after = keeper({ isClockNew: true })
    expect([...after.kept(['BTC'])]).toEqual([])
    after.stop()
  })

  test('are not sent if they are older than 15 minutes', () => {
    kept(['pulse/BTC'])
    clock.advance(15 * MINUTE_MS)
    const after = keeper()
    expect([...after.kept(['BTC'])]).toHaveLength(1)
    after.stop()
    clock.advance(1)
    const later = keeper()
    expect([...later.kept(['BTC'])]).toEqual([])
    later.stop()
  })

  test('are kept once the file can be used: another program may have held it', () => {
    const holder = new Database(join(dataDir, 'documents.db'))
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.exec('BEGIN EXCLUSIVE')
    const next = keeper()
    next.add([document('pulse/BTC')])
    holder.close()
    next.add([document('pulse/ETH')])
    clock.advance(MINUTE_MS)
    next.add([document('pulse/SOL')])
    next.stop()
    const after = keeper()
    expect(keysOf(after.kept(['BTC', 'ETH', 'SOL']))).toEqual(['pulse/SOL'])
    after.stop()
    expect(logged).toHaveLength(1)
  })

  test('are those in the memory of the engine, unless it belongs to others by now', () => {
    const memory = newDocumentMemory()
    const engine = new DocumentMemory(memory)
    const gateway = new BlockChains(memory)
    const living = keeper()
    const place = (...keys: readonly DocumentKey[]) => {
      const placed = engine.place(keys.map((key) => document(key)))
      living.add(placed)
      for (const one of placed) if (one instanceof PlacedDocument) gateway.release(one.first)
    }
    place('pulse/BTC', 'pulse/GONE')
    engine.retain(new Set(['BTC', 'ETH']))
    place('pulse/ETH')
    place('pulse/ETH')
    living.stop()
    const after = keeper()
    expect(keysOf(after.kept(['BTC', 'ETH', 'GONE']))).toEqual(['pulse/BTC', 'pulse/ETH'])
    after.stop()
    expect(logged).toEqual([])
  })

  test('do not include those of coins that were delisted, after the next save', () => {
    kept(['pulse/BTC', 'pulse/GONE', 'screener/*'])
    const living = keeper()
    living.list(['BTC'])
    clock.advance(MINUTE_MS + 1_000)
    living.stop()
    const after = keeper()
    expect(keysOf(after.kept(['BTC', 'GONE']))).toEqual(['pulse/BTC', 'screener/*'])
    after.stop()
  })

  test('of delisted coins are deleted by a later save if one fails', () => {
    kept(['pulse/GONE'])
    const living = keeper()
    living.list(['BTC'])
    vi.spyOn(DocumentStore.prototype, 'retain').mockImplementationOnce(() => {
      throw new SqliteError('database or disk is full', 'SQLITE_FULL')
    })
    clock.advance(2 * MINUTE_MS + 1_000)
    living.stop()
    const after = keeper()
    expect(keysOf(after.kept(['GONE']))).toEqual([])
    after.stop()
  })

  test('are kept in a new file where theirs was removed', () => {
    const living = keeper()
    for (const end of ['', '-wal']) rmSync(join(dataDir, `documents.db${end}`))
    living.add([document('pulse/BTC')])
    clock.advance(MINUTE_MS)
    living.add([document('pulse/ETH')])
    living.stop()
    expect(logged).toEqual(['documents not saved; tried again'])
    const after = keeper()
    expect(keysOf(after.kept(['BTC', 'ETH']))).toEqual(['pulse/BTC', 'pulse/ETH'])
    after.stop()
  })

  test('are kept in a new file where theirs is damaged, which is set aside', () => {
    const living = keeper()
    vi.spyOn(DocumentStore.prototype, 'save').mockImplementationOnce(() => {
      throw new SqliteError('database disk image is malformed', 'SQLITE_CORRUPT')
    })
    clock.advance(MINUTE_MS)
    living.add([document('pulse/ETH')])
    living.stop()
    expect(readdirSync(dataDir)).toContain(`documents.db.corrupt-${NOW_MS + MINUTE_MS}`)
    const after = keeper()
    expect(keysOf(after.kept(['ETH']))).toEqual(['pulse/ETH'])
    after.stop()
  })

  test('that cannot be kept do not stop the engine', () => {
    mkdirSync(join(dataDir, 'documents.db'))
    const without = keeper()
    without.add([document('pulse/BTC')])
    clock.advance(MINUTE_MS)
    expect([...without.kept(['BTC'])]).toEqual([])
    without.stop()
    const reason = 'documents are not saved; after a restart answers are available later'
    expect(logged, 'and every minute').toEqual([reason, reason])
  })

  function keeper(
    own: { dataDir?: string; isRestart?: boolean; isClockNew?: boolean } = {},
  ): DocumentKeeper {
    const log = pino({ base: null }, { write: (line: string) => logged.push(JSON.parse(line).msg) })
    return new DocumentKeeper({ dataDir, version: '1.2.3', ...own }, clock, undefined, log)
  }

  function kept(keys: readonly DocumentKey[]): void {
    const before = keeper()
    before.add(keys.map(document))
    before.stop()
  }
})

function keysOf(documents: Iterable<Document>): readonly string[] {
  return Array.from(documents, ({ key }) => key).toSorted()
}

function document(key: DocumentKey): PackedDocument {
  const bytes = new Uint8Array(8)
  return packDocument({ key, version: 1, renderedAtMs: NOW_MS, bytes, parts: [], views: {} })
}
