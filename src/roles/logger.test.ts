import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { logDestination } from './logger.ts'

/** Every write to it fails as on a full disk. */
const FULL = '/dev/full'

test.skipIf(!existsSync(FULL)).each([true, false])(
  'a full disk below the log ends nothing (sync: %s)',
  async (sync) => {
    const stream = logDestination(openSync(FULL, 'w'), sync)
    // It closes the descriptor, whose number another test may get then.
    onTestFinished(() => stream.destroy())
    const failed = vi.fn()
    stream.on('error', failed)
    const log = pino(stream)
    log.info('one')
    log.info('another')
    await expect.poll(() => failed).toHaveBeenCalled()
    stream.flushSync()
  },
)

test('lines that wait are flushed at the end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const stream = logDestination(openSync(path, 'w'), false)
  onTestFinished(() => stream.destroy())
  const log = pino(stream)
  log.info('on its way to the disk')
  log.info('waiting')
  stream.flushSync()
  expect(readFileSync(path, 'utf8')).toContain('"msg":"waiting"')
})
