import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { Processor } from '../compute/processor.ts'
import { OperatingError } from '../domain/errors.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { CheckpointStore } from '../store/checkpoint-store.ts'
import { HistoryStore } from '../store/history-store.ts'
import { storedClaims } from '../store/stored-claims.ts'
import { Checkpoints } from './checkpoints.ts'

const NOW_MS = Date.UTC(2026, 0, 2)
const HOUR_MS = 3_600_000

const claim: ResolvedClaim = {
  ...{ rule: 'zone.touch@1', coin: 'BTC', coinClass: 'majors', madeAtMs: NOW_MS - HOUR_MS },
  horizonMs: HOUR_MS / 2,
  statement: { form: 'event', probability: 0.5, control: null },
  ...{ reference: [1, 100, 101], resolvedAtMs: NOW_MS },
  outcome: { kind: 'event', happened: true, controlHappened: false },
}

let folder: string
const open: Checkpoints[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-checkpoints-'))
})

afterEach(() => {
  for (const checkpoints of open.splice(0)) checkpoints.close()
  rmSync(folder, { recursive: true })
})

test('a claim that history could not store is stored by the successor of a killed engine', () => {
  const killed = start(folder)
  vi.spyOn(killed.unstoredClaims, 'next').mockImplementation(() => {
    throw new OperatingError('database_locked', 'history.db')
  })
  killed.unstoredClaims.add(claim)
  killed.clock.advance(30_000)

  const after = join(folder, 'after')
  mkdirSync(after)
  for (const name of ['engine.db', 'engine.db-wal'])
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(after, name))
  const successor = start(after)
  successor.clock.advance(30_000)
  expect(storedClaims(join(after, 'history.db'), 'zone', claim.madeAtMs)).toEqual([
    { ...claim, sequence: 0 },
  ])
  expect(successor.unstoredClaims.length).toBe(0)
})

function start(dataDir: string) {
  const clock = new ManualClock(NOW_MS)
  const processor = new Processor({ coin: [], market: [] }, '0.0.0')
  const { unstoredClaims } = processor.records
  const onSetAside = () => undefined
  const store = new CheckpointStore({ path: join(dataDir, 'engine.db'), onSetAside }, NOW_MS)
  const saved = store.load()
  if (saved !== null) processor.restore(saved, NOW_MS)
  const history = new HistoryStore(
    { path: join(dataDir, 'history.db'), onNotice: () => undefined, claims: unstoredClaims },
    NOW_MS,
  )
  const log = pino({ level: 'silent' })
  const checkpoints = new Checkpoints({ processor, store, history, clock, log })
  open.push(checkpoints)
  checkpoints.start()
  return { clock, unstoredClaims }
}
