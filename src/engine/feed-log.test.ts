import pino from 'pino'
import { expect, test } from 'vitest'
import { FeedLog } from './feed-log.ts'

const rubbish = { kind: 'frame-rejected', reason: 'not_json' } as const

function scene() {
  const lines: { readonly level: number; readonly times: number; readonly reason?: string }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { log: new FeedLog(log), lines }
}

test('every notice is counted, and a kind that goes on is logged once a minute', () => {
  const { log, lines } = scene()
  for (let second = 0; second < 150; second += 1) log.add(rubbish, second * 1_000)
  expect(log.counts).toEqual({ 'frame-rejected:not_json': 150 })
  expect(lines.map(({ times }) => times)).toEqual([1, 60, 60])
})

test('what was left out is a warning once, and a detail from then on', () => {
  const { log, lines } = scene()
  for (const minute of [0, 1, 2]) log.add(rubbish, minute * 60_000)
  const { debug, warn } = pino.levels.values as Record<'debug' | 'warn', number>
  expect(lines.map(({ level }) => level)).toEqual([warn, debug, debug])
})

test('what belongs to an ordinary day is a detail from the start', () => {
  const { log, lines } = scene()
  log.add({ kind: 'trades-bridged', coin: 'SOL', repeated: 10, fresh: 20 }, 0)
  log.add({ feed: 'outside', source: 'pyth-hermes', kind: 'needs_key', detail: 'HTTP 401' }, 0)
  const debug = pino.levels.values['debug']
  expect(lines).toMatchObject([{ level: debug }, { level: debug }])
})

test('another reason is another kind', () => {
  const { log, lines } = scene()
  log.add(rubbish, 0)
  log.add({ kind: 'frame-rejected', reason: 'bad_shape' }, 1)
  log.add({ kind: 'paused', pauseMs: 20_000 }, 2)
  expect(lines).toHaveLength(3)
  expect(log.counts).toEqual({
    'frame-rejected:not_json': 1,
    'frame-rejected:bad_shape': 1,
    paused: 1,
  })
})

test('free text of the other side makes no names', () => {
  const { log } = scene()
  for (let at = 0; at < 100; at += 1) log.add({ kind: 'refused', text: `no ${at}` }, at)
  expect(log.counts).toEqual({ refused: 100 })
})
