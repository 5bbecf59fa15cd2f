import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
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
    const fd = openSync(FULL, 'w')
    onTestFinished(() => closeSync(fd))
    const stream = logDestination(fd, sync)
    const failed = vi.fn()
    stream.on('error', failed)
    const log = pino(stream)
    log.info('one')
    log.info('another')
    await vi.waitFor(() => expect(failed).toHaveBeenCalled())
    stream.flushSync()
  },
)

test('lines are flushed at the end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const stream = logDestination(openSync(path, 'w'), false)
  pino(stream).info('one')
  stream.flushSync()
  expect(readFileSync(path, 'utf8')).toContain('"msg":"one"')
})
