import pino from 'pino'
import { expect, test } from 'vitest'
import { FeedLog } from './feed-log.ts'

const rejected = { kind: 'frame-rejected', reason: 'not_json' } as const

function scene() {
  const lines: { readonly level: number; readonly times: number; readonly reason?: string }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { log: new FeedLog(log), lines }
}

test('counts every notice and logs a repeated kind once a minute', () => {
  const { log, lines } = scene()
  for (let second = 0; second < 150; second += 1) log.add(rejected, second * 1_000)
  expect(log.counts).toEqual({ 'frame-rejected:not_json': 150 })
  expect(lines.map(({ times }) => times)).toEqual([1, 60, 60])
})

test('logs left-out input as a warning once, then as detail', () => {
  const { log, lines } = scene()
  for (const minute of [0, 1, 2]) log.add(rejected, minute * 60_000)
  const { debug, warn } = pino.levels.values as Record<'debug' | 'warn', number>
  expect(lines.map(({ level }) => level)).toEqual([warn, debug, debug])
})

test('logs normal operation as detail', () => {
  const { log, lines } = scene()
  log.add({ kind: 'trades-bridged', coin: 'SOL', repeated: 10, fresh: 20 }, 0)
  log.add({ feed: 'outside', source: 'pyth-hermes', kind: 'needs_key', detail: 'HTTP 401' }, 0)
  const debug = pino.levels.values['debug']
  expect(lines).toMatchObject([{ level: debug }, { level: debug }])
})

test('counts each reason separately', () => {
  const { log, lines } = scene()
  log.add(rejected, 0)
  log.add({ kind: 'frame-rejected', reason: 'bad_shape' }, 1)
  log.add({ kind: 'paused', pauseMs: 20_000 }, 2)
  expect(lines).toHaveLength(3)
  expect(log.counts).toEqual({
    'frame-rejected:not_json': 1,
    'frame-rejected:bad_shape': 1,
    paused: 1,
  })
})

test('uses no free text in names', () => {
  const { log } = scene()
  for (let at = 0; at < 100; at += 1) log.add({ kind: 'refused', text: `no ${at}` }, at)
  expect(log.counts).toEqual({ refused: 100 })
})
