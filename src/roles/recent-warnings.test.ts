import { pino } from 'pino'
import { expect, test } from 'vitest'
import { RecentWarnings } from './recent-warnings.ts'

function logOf(warnings: RecentWarnings) {
  const streamWrite = (line: string) => {
    warnings.add(line)
    return line
  }
  return pino({ name: 'perpscope', hooks: { streamWrite } }, { write: () => {} })
}

test('warnings and errors are kept with their members, the newest first, other lines not', () => {
  const warnings = new RecentWarnings([])
  const log = logOf(warnings)
  log.warn({ what: 'the ledger', reason: 'full' }, 'does not work')
  log.info('perpscope is up')
  log.child({ request_id: 'r-1' }).error({ err: new Error('broken') }, 'request failed')
  log.fatal('stopping')
  expect(warnings.newest()).toMatchObject([
    { level: 'fatal', part: 'perpscope', message: 'stopping', details: '' },
    { level: 'error', message: 'request failed', details: expect.stringContaining('broken') },
    {
      ...{ level: 'warn', message: 'does not work', timeMs: expect.any(Number) },
      details: '{"what":"the ledger","reason":"full"}',
    },
  ])
  expect(warnings.newest()[1]?.details).toContain('r-1')
})

test('the last hundred are kept, each cut to a bound', () => {
  const warnings = new RecentWarnings([])
  const log = logOf(warnings)
  for (let count = 1; count <= 130; count += 1)
    log.warn({ text: 'x'.repeat(5_000) }, `${count} ${'y'.repeat(500)}`)
  const newest = warnings.newest()
  expect(newest).toHaveLength(100)
  expect(newest[0]?.message).toMatch(/^130 y+…$/)
  expect(newest[0]?.message).toHaveLength(301)
  expect(newest[0]?.details).toHaveLength(1_001)
  expect(newest[99]?.message).toMatch(/^31 /)
})

test('secrets do not appear, not even in the error of a library', () => {
  const warnings = new RecentWarnings(['/v2/key-of-the-node'])
  const url = 'https://node.example/v2/key-of-the-node'
  logOf(warnings).error({ err: new Error(`${url} failed`) }, `asked ${url}`)
  const [entry] = warnings.newest()
  expect(entry?.message).toBe('asked https://node.example…')
  expect(JSON.stringify(entry)).not.toContain('key-of-the-node')
})
