import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownMaintenance } from './open-ledger.ts'

test('maintenance of an earlier process is on since it was switched on', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-maintenance-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const path = join(dataDir, 'maintenance')
  const sinceMs = Date.UTC(2026, 0, 1)
  writeFileSync(path, '')
  utimesSync(path, sinceMs / 1_000, sinceMs / 1_000)
  const maintenance = ownMaintenance(dataDir)
  expect([maintenance.isOn, maintenance.sinceMs]).toEqual([true, sinceMs])
})
