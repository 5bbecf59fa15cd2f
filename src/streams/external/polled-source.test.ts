import { describe, expect, test } from 'vitest'
import type { DecodedReply } from './polled-source.ts'
import { polledSource } from './polled-source.ts'
import { ScriptedWeb, START_MS } from './testing/scripted-web.ts'

const HOUR_MS = 3_600_000

/** A source whose reply is one number. */
const source = polledSource({
  source: 'fear-greed',
  path: '/value',
  periodMs: 60_000,
  decode: (body, nowMs): DecodedReply => {
    const value = Number(body)
    if (!(value > 0)) return { events: [], issues: [{ kind: 'undecodable', detail: body }] }
    const times = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
    return { events: [{ kind: 'fear-greed', value, ...times }], issues: [] }
  },
})

function play(
  urls: readonly string[],
  answer: ScriptedWeb['answer'],
): { readonly web: ScriptedWeb; readonly stop: () => void } {
  const web = new ScriptedWeb()
  web.answer = answer
  const stop = web.play(source, urls)
  return { web, stop }
}

const ok = (body: string) => ({ status: 200, body })
const states = (web: ScriptedWeb) => web.statuses.map(({ state }) => state)

describe('a polled source', () => {
  test('is down at first, up with the first reply, and then emits values only', () => {
    const { web } = play(['http://a/'], () => ok('47'))
    expect(web.events).toMatchObject([
      { kind: 'source-status', source: 'fear-greed', state: 'down' },
    ])
    web.advance(200_000)
    expect(web.events.map(({ kind }) => kind)).toEqual([
      'source-status',
      'source-status',
      'fear-greed',
      'fear-greed',
      'fear-greed',
      'fear-greed',
    ])
    expect(states(web)).toEqual(['down', 'up'])
  })

  test('is requested at its address, with jitter after each period', () => {
    const { web } = play(['http://a/below/'], () => ok('47'))
    web.advance(200_000)
    expect(new Set(web.asked.map(({ url }) => url))).toEqual(new Set(['http://a/below/value']))
    const pauses = web.asked.slice(1).map(({ atMs }, index) => atMs - (web.asked[index]?.atMs ?? 0))
    for (const pauseMs of pauses) expect(pauseMs).toBeCloseTo(63_050, 6)
  })

  test('moves to the next address after a failure and stays there', () => {
    const { web } = play(['http://a', 'http://b'], (url) =>
      url.includes('//a') ? 'fail' : ok('47'),
    )
    web.advance(200_000)
    expect(states(web)).toEqual(['down', 'up'])
    expect(web.asked.map(({ url }) => url).slice(0, 4)).toEqual([
      'http://a/value',
      'http://b/value',
      'http://b/value',
      'http://b/value',
    ])
    expect((web.asked[1]?.atMs ?? 0) - START_MS).toBe(1_050)
  })

  test.each([
    ['closes the connection', 'fail'],
    ['does not reply', 'hang'],
    ['replies with status 500', { status: 500, body: '47' }],
    ['redirects', { status: 302, body: '47' }],
    ['cannot be decoded', ok('<html>')],
  ] as const)('is down when it %s, and recovers', (_, fault) => {
    let isFaulty = false
    const { web } = play(['http://a'], () => (isFaulty ? fault : ok('47')))
    web.advance(1_000)
    isFaulty = true
    web.advance(10 * 60_000)
    expect(states(web)).toEqual(['down', 'up', 'down'])
    expect(web.notices).toContainEqual(expect.objectContaining({ kind: 'request_failed' }))
    isFaulty = false
    web.advance(2 * 60_000)
    expect(states(web)).toEqual(['down', 'up', 'down', 'up'])
  })

  test('publishes the kind of a failure, but not its address', () => {
    const { web } = play(['http://user:secret@a'], () => (web.asked.length > 1 ? 'fail' : ok('47')))
    web.advance(200_000)
    expect(web.statuses.at(-1)).toMatchObject({ state: 'down', reason: 'request_failed' })
    expect(JSON.stringify(web.events)).not.toContain('secret')
  })

  test('has the reason of its newest failure, and the time at which it went down', () => {
    const { web } = play(['http://a'], () => (web.asked.length > 3 ? 'hang' : 'fail'))
    web.advance(10 * 60_000)
    expect(web.statuses.map(({ reason }) => reason)).toEqual([
      'no reply received yet',
      'request_failed',
      'request_timeout',
    ])
    expect(new Set(web.statuses.map(({ timeReceivedMs }) => timeReceivedMs))).toEqual(
      new Set([START_MS]),
    )
  })

  test('is retried with growing pauses of up to one minute', () => {
    const { web } = play(['http://a'], () => 'fail')
    web.chance = 1
    web.advance(HOUR_MS)
    const pauses = web.asked.slice(1).map(({ atMs }, index) => atMs - (web.asked[index]?.atMs ?? 0))
    const expected = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    expect(pauses.slice(0, 8)).toEqual(expected.map((pauseMs) => pauseMs + 50))
  })

  test('pauses for a minute after status 429', () => {
    const { web } = play(['http://a'], () => ({ status: 429, body: '' }))
    web.advance(130_000)
    expect(web.asked.map(({ atMs }) => atMs - START_MS)).toEqual([0, 60_050, 120_100])
  })

  test.each([401, 403, 451])(
    'is blocked after status %i from every address and retried after hours',
    (status) => {
      const { web } = play(['http://a', 'http://b'], () => ({ status, body: '' }))
      web.advance(3 * HOUR_MS)
      expect(web.asked).toHaveLength(2)
      expect(web.statuses.at(-1)).toMatchObject({
        state: 'blocked',
        reason: `HTTP ${status} from every address`,
      })
      web.answer = () => ok('47')
      web.advance(2 * HOUR_MS)
      expect(states(web)).toEqual(['down', 'blocked', 'up'])
    },
  )

  test.each([
    ['before the reply', 20],
    ['after the reply', 1_000],
  ])('sends nothing after the end of the subscription, %s', (_, afterMs) => {
    const { web, stop } = play(['http://a'], () => ok('47'))
    web.advance(afterMs)
    stop()
    web.advance(HOUR_MS)
    expect(web.asked).toHaveLength(1)
  })
})
