import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { recordWhileServing } from './recorder.ts'

const NOW_MS = 1_767_225_600_000

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-recorder-'))
  path = join(folder, 'log')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the recording of a service', () => {
  const causes: unknown[] = []
  const recorded = (bytesMax: number) =>
    recordWhileServing({ path, bytesMax }, new ManualClock(NOW_MS), (cause) => causes.push(cause))
  afterEach(() => causes.splice(0))

  test('is on while its file accepts entries', async () => {
    const recording = await recorded(1e6)
    recording.recorder?.gathered('arb', NOW_MS)
    await recording.close()
    expect(recording.health()).toEqual({ state: 'on', reason: null, sinceMs: NOW_MS })
    expect(causes).toEqual([])
  })

  test('reports permanently that it stopped, and why', async () => {
    const recording = await recorded(30)
    recording.recorder?.gathered('arb', NOW_MS)
    await recording.close()
    expect(recording.health()).toEqual({
      state: 'stopped',
      reason: `the recording ${path} ends: it has reached 30 bytes`,
      sinceMs: NOW_MS,
    })
    expect(causes).toHaveLength(1)
  })

  test('that cannot start is reported and throws no error', async () => {
    writeFileSync(path, 'Dear diary')
    const recording = await recorded(1e6)
    expect(recording.recorder).toBeUndefined()
    expect(recording.health()).toMatchObject({
      state: 'stopped',
      reason: `${path} is not a recording of perpscope`,
    })
    await recording.close()
  })
})
