import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import { replay } from './replay.ts'

test('a recording that begins after --until is not called empty', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-replay-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'recording')
  const limits = { bytesMax: 1_000_000, onStopped: () => undefined }
  const writer = await FrameLogWriter.open(path, { ...limits, clock: new ManualClock() })
  writer.append({ kind: 'start', atMs: 1_000 })
  await writer.close()
  const output = { write: () => undefined, tell: () => undefined }
  expect(() => replay(path, { until: 999 }, output)).toThrow(
    `${path} holds no start of an engine up to --until 1970-01-01T00:00:00.999Z`,
  )
})
