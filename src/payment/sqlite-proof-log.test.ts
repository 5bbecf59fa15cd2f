import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { describeProofLog } from '../../test/support/proof-log-contract.ts'
import { rootByProof } from '../domain/merkle-tree.ts'
import { inspectProofFile, openProofFile, proofMigrations } from '../store/proof-file.ts'
import { sqliteProofLog } from './sqlite-proof-log.ts'

const HOUR_MS = 3_600_000
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

describeProofLog('a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-proofs-'))
  const opened: Database.Database[] = []
  return {
    async open(nowMs) {
      const defer = (task: () => void) => setImmediate(task)
      const { db } = openProofFile(join(folder, 'proofs.db'), nowMs())
      opened.push(db)
      return sqliteProofLog(db, nowMs, defer)
    },
    async remove() {
      for (const db of opened) db.close()
      rmSync(folder, { recursive: true })
    },
  }
})

test('the log of version 0.1.0 is continued: its hours keep their roots and chain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-proofs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'proofs.db')
  const digest = sha256(Buffer.from('sold'))
  const waiting = sha256(Buffer.from('waits for its hour'))
  const root = sha256(Uint8Array.of(0, ...digest))
  const chain = sha256(Buffer.from('chain'))
  const old = new Database(path)
  proofMigrations[0]?.(old)
  old.prepare('INSERT INTO answers VALUES (10, 0, ?), (12, 0, ?)').run(digest, waiting)
  old.prepare('INSERT INTO hours VALUES (10, 1, ?, ?)').run(root, chain)
  old.pragma('user_version = 1')
  old.close()
  expect(inspectProofFile(path)).toMatchObject({ state: 'readable', version: 1 })
  let nowMs = 12.5 * HOUR_MS
  const { db, setAside } = openProofFile(path, nowMs)
  onTestFinished(() => {
    db.close()
  })
  expect(setAside).toBeNull()
  const log = sqliteProofLog(db, () => nowMs)
  await log.seal()
  const proof = await log.proofOf(digest)
  if (proof?.state !== 'sealed') throw new Error('it is sealed')
  expect(proof.hour).toMatchObject({ number: 1, hourMs: 10 * HOUR_MS, answers: 1, root, chain })
  expect(rootByProof(digest, proof.proof, sha256)).toEqual(root)
  expect(await log.proofOf(waiting)).toMatchObject({ state: 'open', hourMs: 12 * HOUR_MS })
  nowMs = 14 * HOUR_MS
  await log.seal()
  expect(await log.proofOf(waiting)).toMatchObject({ state: 'sealed', before: chain })
})
