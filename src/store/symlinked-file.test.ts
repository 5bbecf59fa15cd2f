import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DocumentStore } from './document-store.ts'
import { inspectHistory } from './history-inspection.ts'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barAt, barBatch, START_MS } from './testing/history-rows.ts'

const NOW_MS = START_MS

describe('a file that lies on another disk, with a link to it', () => {
  let folder: string
  let link: string
  let target: string
  let notices: HistoryNotice[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-link-'))
    for (const name of ['data', 'big']) mkdirSync(join(folder, name))
    link = join(folder, 'data', 'history.db')
    target = join(folder, 'big', 'history.db')
    symlinkSync('../big/history.db', link)
    notices = []
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  test('is begun there, and written', () => {
    written()
    expect(notices).toEqual([])
    expect(readdirSync(join(folder, 'data'))).toEqual(['history.db'])
    expect(readdirSync(join(folder, 'big'))).toEqual(['history.db'])
  })

  test('is written where it was before', () => {
    written()
    written()
    expect(notices).toEqual([])
  })

  test('is set aside there, and the link stays', () => {
    writeFileSync(target, 'this is no database, and it is longer than a header'.repeat(100))
    written()
    expect(notices).toMatchObject([{ kind: 'set-aside', path: `${target}.corrupt-${NOW_MS}` }])
    expect(readdirSync(join(folder, 'data'))).toEqual(['history.db'])
    expect(existsSync(target)).toBe(true)
  })

  test('is looked at with the log that lies beside it', () => {
    const store = open()
    store.add(barBatch('BTC', [barAt(START_MS)]))
    for (const _ of store.write(NOW_MS));
    const { bytes } = inspectHistory(target) as { bytes: number }
    expect(inspectHistory(link)).toMatchObject({ state: 'readable', bytes })
    store.close(NOW_MS)
  })

  test('is removed there where what it says must be forgotten', () => {
    const options = { path: link, maker: '1', isClockNew: false }
    DocumentStore.open(options, NOW_MS).db.close()
    rmSync(target)
    writeFileSync(target, 'not a database')
    const { db, setAside } = DocumentStore.open({ ...options, isClockNew: true }, NOW_MS)
    expect(setAside).toBeNull()
    db.close()
    expect(existsSync(target)).toBe(true)
  })

  test('is told to be unusable where that disk is not there', () => {
    rmSync(join(folder, 'big'), { recursive: true })
    const store = open()
    expect(store.health.state).toBe('degraded')
    store.close(NOW_MS)
    expect(existsSync(join(folder, 'big'))).toBe(false)
  })

  function open(): HistoryStore {
    return new HistoryStore({ path: link, onNotice: (notice) => notices.push(notice) }, NOW_MS)
  }

  function written(): void {
    const store = open()
    store.add(barBatch('BTC', [barAt(START_MS)]))
    for (const _ of store.write(NOW_MS));
    expect(store.health).toMatchObject({ state: 'ok', reason: null })
    expect(store.bars('BTC', 0)).toHaveLength(1)
    store.close(NOW_MS)
  }
})
