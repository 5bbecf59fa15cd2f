import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { beginVersion } from './data-versions.ts'
import { syncToDisk } from './sync-to-disk.ts'

vi.mock('./sync-to-disk.ts', { spy: true })

test('a copy is on the disk before the migration begins: the file before it is renamed, the folder after it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-versions-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'history.db')
  const db = new Database(path)
  db.pragma('user_version = 1')
  db.close()
  expect(
    beginVersion(folder, [{ name: 'history.db', schema: 2, isCopied: true }], '1'),
  ).toHaveLength(1)
  expect(vi.mocked(syncToDisk).mock.calls).toEqual([[`${path}.schema-1.new`], [folder]])
})
