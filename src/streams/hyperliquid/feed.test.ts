import { describe, expect, test } from 'vitest'
import type { HttpReply } from '../runtime.ts'
import { mostInAMinute, play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'

describe('the start', () => {
  test('the universe and all contexts come first, whatever the venue answers before', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH', '-OLD'] })
    const failures: readonly HttpReply[] = [
      { status: 500, body: 'null' },
      { status: 200, body: '<html>' },
      { status: 429, body: '' },
    ]
    let attempts = 0
    venue.reply = () => failures[attempts++]
    const run = play(venue)
    run.advance(300_000)
    expect(run.events.slice(0, 4)).toMatchObject([
      {
        kind: 'universe',
        listings: [{ coin: 'BTC' }, { coin: 'ETH' }, { coin: 'OLD', isDelisted: true }],
      },
      { kind: 'context', coin: 'BTC' },
      { kind: 'context', coin: 'ETH' },
      { kind: 'context', coin: 'OLD', midPrice: null },
    ])
    expect(run.notices).toContainEqual(expect.objectContaining({ kind: 'paused' }))
    expect(run.notices.filter(({ kind }) => kind === 'request-failed')).toHaveLength(3)
    const [first, , third] = venue.requests
    expect(venue.sockets[0]?.openedMs).toBeGreaterThan((third?.atMs ?? 0) + 10_000)
    expect(first?.body).toEqual({ type: 'metaAndAssetCtxs' })
  })

  test('a venue that never answers is asked again', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    venue.isMute = true
    const run = play(venue)
    run.advance(40_000)
    expect(run.notices).toMatchObject([{ reason: expect.stringContaining('request_timeout') }])
    expect(venue.requests).toHaveLength(2)
  })

  test('reports `up` once every socket receives frames', () => {
    const run = play(new ScriptedVenue({ coins: ['BTC', 'ETH'] }), { sockets: 3 })
    run.advance(5_000)
    expect(run.of('feed-status')).toMatchObject([{ state: 'up', coins: [] }])
  })
})

describe('subscriptions', () => {
  test('what the metadata lists as alive, and the most traded coins closer', () => {
    const coins = Array.from({ length: 14 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins: [...coins, '-OLD', '@107'] })
    play(venue, { sockets: 3 }).advance(5_000)
    expect(venue.subscribed('fastAssetCtxs')).toEqual([undefined])
    expect(venue.subscribed('allDexsAssetCtxs')).toEqual([undefined])
    for (const type of ['trades', 'candle', 'l2Book'])
      expect(venue.subscribed(type).toSorted()).toEqual(coins.toSorted())
    for (const type of ['bbo', 'activeAssetCtx'])
      expect(venue.subscribed(type).toSorted(), 'the first have the highest volume').toEqual(
        coins.slice(0, 10).toSorted(),
      )
    for (const { heard } of venue.sockets)
      expect(heard.filter(({ text }) => text.includes('candle')).length).toBeGreaterThan(3)
  })

  test('stay under the venue limit however many coins it lists, and are paced', () => {
    const coins = Array.from({ length: 400 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins })
    play(venue, { sockets: 5 }).advance(60_000)
    const frames = venue.sockets.flatMap(({ heard }) => heard)
    const subscribed = frames.filter(({ text }) => text.includes('"subscribe"'))
    expect(subscribed.length, 'ten stay free, to try coins alone').toBeLessThanOrEqual(990)
    expect(subscribed.length).toBeGreaterThan(980)
    for (const { heard } of venue.sockets) {
      const sent = heard.filter(({ text }) => text.includes('"subscribe"'))
      for (const { atMs } of sent) {
        const close = sent.filter((other) => other.atMs > atMs - 100 && other.atMs <= atMs)
        expect(close.length).toBeLessThanOrEqual(20)
      }
    }
    expect(mostInAMinute(frames.map(({ atMs }) => atMs))).toBeLessThanOrEqual(2_000)
  })
})

describe('a bug is not taken for a failure of the venue', () => {
  const bug = new TypeError('a bug')
  const fail = () => {
    throw bug
  }

  test('while asking for history', () => {
    const run = play(new ScriptedVenue({ coins: ['BTC'] }), { historyOf: fail })
    run.advance(10_000)
    expect(run.error).toBe(bug)
  })

  test('while a frame is handled', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue, {
      onFeedEvent: ({ kind }) => {
        if (kind === 'frame-rejected') fail()
      },
    })
    run.advance(5_000)
    venue.send('no frame of this venue')
    run.advance(60_000)
    expect(run.error).toBe(bug)
    expect(venue.connectionsMs).toHaveLength(1)
  })
})

test('unsubscribing closes every socket and asks nothing more', () => {
  const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
  const run = play(venue, { sockets: 2 })
  run.advance(5_000)
  run.stop()
  const asked = venue.requests.length
  run.advance(120_000)
  expect(venue.sockets.map(({ isClosed }) => isClosed)).toEqual([true, true])
  expect(venue.requests).toHaveLength(asked)
})
