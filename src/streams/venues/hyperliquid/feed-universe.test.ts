import { describe, expect, test } from 'vitest'
import { play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'

const HOUR_MS = 3_600_000

describe('the universe', () => {
  test('is fetched every minute and told only when it changed', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue)
    run.advance(200_000)
    const metas = venue.requests.filter(({ body }) => JSON.stringify(body).includes('"meta"'))
    expect(metas).toHaveLength(3)
    expect(run.of('universe')).toHaveLength(1)
  })

  test('a new coin is subscribed, a delisted one no longer', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    const run = play(venue, {
      needs: (_, nowMs) => [{ timeframe: '15m', fromMs: nowMs - HOUR_MS }],
    })
    run.advance(30_000)
    venue.coins = ['BTC', '-ETH', 'NEW']
    run.advance(35_000)
    expect(run.of('universe')).toHaveLength(2)
    expect(
      run
        .of('universe')
        .at(-1)
        ?.listings.map(({ coin }) => coin),
    ).toEqual(['BTC', 'ETH', 'NEW'])
    expect(venue.subscribed('candle')).toEqual(['BTC', 'NEW'])
    expect(venue.subscribed('trades')).toEqual(['BTC', 'NEW'])
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['BTC', 'ETH', 'NEW'])
    venue.trade('NEW')
    run.advance(100)
    expect(run.of('trade').at(-1)).toMatchObject({ coin: 'NEW' })
    run.forget('ETH')
    run.advance(130_000)
    expect(run.of('history'), 'of the delisted one nothing is asked').toHaveLength(3)
  })

  test('contexts of another length have it fetched at once', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(20_000)
    venue.coins = ['BTC', 'NEW']
    venue.sendContexts()
    run.advance(1_000)
    expect(run.notices).toContainEqual({ kind: 'frame-rejected', reason: 'context_length' })
    expect(run.of('universe')).toHaveLength(2)
    const known = run.of('context').length
    venue.sendContexts()
    run.advance(1_000)
    expect(run.of('context').slice(known)).toMatchObject([{ coin: 'BTC' }, { coin: 'NEW' }])
  })

  test('contexts that never fit do not starve the rest', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(5_000)
    for (let tick = 0; tick < 600; tick += 1) {
      venue.send({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', []]] } })
      run.advance(100)
    }
    const universes = venue.requests.filter(({ body }) => JSON.stringify(body).includes('meta'))
    expect(universes.length).toBeLessThan(15)
  })
})

describe('a name that the websocket does not know', () => {
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('costs only its own coin: whoever was subscribed with it is tried alone and let in again', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'B', 'BAD', 'C', 'D'] })
    venue.poison.add('BAD')
    const run = play(venue, { sockets: 2, needs })
    run.advance(60_000)
    const [quarantined] = run.notices.filter(({ kind }) => kind === 'quarantined')
    expect(quarantined).toMatchObject({ coins: expect.arrayContaining(['BAD']) })
    expect(run.notices).toContainEqual({ kind: 'probed', coin: 'BAD', isAccepted: false })
    for (const type of ['trades', 'candle', 'l2Book'])
      expect(venue.subscribed(type).toSorted()).toEqual(['A', 'B', 'C', 'D'])
    expect(new Set(run.of('history').map(({ coin }) => coin))).toEqual(
      new Set(['A', 'B', 'C', 'D']),
    )
    const connections = venue.connectionsMs.length
    run.advance(600_000)
    expect(
      venue.connectionsMs.length - connections,
      'it is tried more and more rarely',
    ).toBeLessThan(5)
    expect(run.of('feed-status').at(-1)).toMatchObject({ state: 'up' })
  })

  test('is let in once the venue takes it', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'BAD'] })
    venue.poison.add('BAD')
    const run = play(venue, { sockets: 2, needs })
    run.advance(30_000)
    venue.poison.clear()
    run.advance(120_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['A', 'BAD'])
    expect(run.notices).toContainEqual({ kind: 'probed', coin: 'BAD', isAccepted: true })
  })

  test('is not suspected of what a storm of closes does', () => {
    const coins = Array.from({ length: 40 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins })
    const run = play(venue, { sockets: 3, needs })
    for (let second = 0; second < 90; second += 1) {
      for (const socket of venue.sockets) if (!socket.isClosed) socket.drop()
      run.advance(1_000)
    }
    run.advance(180_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(coins.toSorted())
    expect(mostInAMinute(venue.connectionsMs)).toBeLessThanOrEqual(30)
  })
})

function mostInAMinute(timesMs: readonly number[]): number {
  return Math.max(
    ...timesMs.map(
      (untilMs) => timesMs.filter((atMs) => atMs > untilMs - 60_000 && atMs <= untilMs).length,
    ),
  )
}
