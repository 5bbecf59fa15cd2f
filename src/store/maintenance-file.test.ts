import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MaintenanceFile } from './maintenance-file.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-maintenance-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

test('the position outlives the object, also in a folder that is new', () => {
  const path = join(folder, 'new', 'maintenance')
  expect(new MaintenanceFile(path).read()).toBe(false)
  new MaintenanceFile(path).write(true)
  expect(new MaintenanceFile(path).read()).toBe(true)
  new MaintenanceFile(path).write(false)
  expect(new MaintenanceFile(path).read()).toBe(false)
})

test('a position that cannot be stored is refused as such', () => {
  const notAFolder = join(folder, 'file')
  writeFileSync(notAFolder, '')
  expect(() => new MaintenanceFile(join(notAFolder, 'maintenance')).write(true)).toThrow(
    expect.objectContaining({ code: 'maintenance_unwritable' }),
  )
})

test('a position that cannot be looked at is not taken for off', () => {
  const notAFolder = join(folder, 'file')
  writeFileSync(notAFolder, '')
  expect(() => new MaintenanceFile(join(notAFolder, 'maintenance')).read()).toThrow(
    expect.objectContaining({ code: 'maintenance_unreadable' }),
  )
})
