import { describe, expect, test } from 'vitest'
import { SubscriptionPlan } from './session/subscription-plan.ts'
import { play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'
import { DEXES_MAX } from './wire/dexes.ts'

const HOUR_MS = 3_600_000

describe('the universe', () => {
  test('is fetched every minute and emitted only after a change', () => {
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
    run.advance(70_000)
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

  test('contexts of another length trigger an immediate fetch', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    venue.isTelling = () => false
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

  test('with more coins than subscriptions reports the excess once', () => {
    const { coinsMax } = new SubscriptionPlan(1)
    const coins = Array.from({ length: coinsMax + 8 }, (_, index) => `C${index}`)
    const run = play(new ScriptedVenue({ coins }))
    run.advance(130_000)
    const told = run.notices.filter(({ kind }) => kind === 'left-out')
    expect(told).toEqual([{ kind: 'left-out', count: 8 }])
  })

  test('contexts that never fit do not starve other requests', () => {
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

  test('contexts that do not fit while no universe is to be had are no silence', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue)
    run.advance(5_000)
    venue.coins = ['BTC', 'NEW']
    venue.reply = () => ({ status: 500, body: 'null' })
    run.advance(200_000)
    expect(run.notices).toContainEqual({ kind: 'frame-rejected', reason: 'context_length' })
    expect(venue.connectionsMs).toHaveLength(1)
  })
})

describe('dexes other than the main one', () => {
  const universeOf = (coins: readonly string[]) => ({
    universe: coins.map((name) => ({ name, szDecimals: 2, maxLeverage: 10 })),
    marginTables: [],
  })
  const refused = { status: 500, body: 'null' }
  /** The main dex lists BTC, and `xyz` one coin once the test lets it answer. */
  const listing = (venue: ScriptedVenue, coin: string) => {
    let isThere = false
    venue.reply = (body) => {
      const text = JSON.stringify(body)
      if (!text.includes('meta')) return undefined
      const isOther = text.includes('"xyz"')
      if (isOther && !isThere) return refused
      const universe = universeOf([isOther ? coin : 'BTC'])
      const isWithContexts = text.includes('metaAndAssetCtxs')
      const reply = isWithContexts ? [universe, [venue.context('BTC')]] : universe
      return { status: 200, body: JSON.stringify(reply) }
    }
    return () => {
      isThere = true
    }
  }
  /** Has the venue list dexes with one coin each. */
  const deployed = (venue: ScriptedVenue) => {
    let names: readonly string[] = []
    venue.reply = (body) => {
      const { type, dex } = body as { readonly type: string; readonly dex?: string }
      if (type === 'perpDexs')
        return { status: 200, body: JSON.stringify([null, ...names.map((name) => ({ name }))]) }
      if (!type.startsWith('meta')) return undefined
      const coin = dex === undefined ? 'BTC' : `${dex}:A`
      const universe = universeOf([coin])
      const reply = type === 'meta' ? universe : [universe, [venue.context(coin)]]
      return { status: 200, body: JSON.stringify(reply) }
    }
    return (...listed: readonly string[]) => {
      names = listed
    }
  }
  const asked = (venue: ScriptedVenue, ...texts: string[]) =>
    venue.requests.filter(({ body }) => texts.every((text) => JSON.stringify(body).includes(text)))
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('do not delay others while they do not answer, and cost little', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
    venue.reply = (body) => (JSON.stringify(body).includes('"dex"') ? refused : undefined)
    const run = play(venue, { dexes: ['typo', 'gone'], needs })
    run.advance(2_000)
    expect(venue.subscribed('l2Book')).toEqual(['BTC', 'ETH'])
    run.advance(13_000)
    expect(run.of('history').map(({ coin }) => coin)).toEqual(['BTC', 'ETH'])
    const before = asked(venue, '"dex"').length
    run.advance(600_000)
    const tenMinutesWeight = 20 * (asked(venue, '"dex"').length - before)
    expect(tenMinutesWeight, 'a tenth of what is planned').toBeLessThan(1_000)
  })

  test('are followed from when they answer', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'xyz:A'] })
    const answer = listing(venue, 'xyz:A')
    const run = play(venue, { dexes: ['xyz'] })
    run.advance(10_000)
    expect(venue.subscribed('l2Book')).toEqual(['BTC'])
    answer()
    run.advance(60_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A'])
  })

  test('are found within an hour of their deployment if all are wanted', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'xyz:A', 'new:A'] })
    const list = deployed(venue)
    list('xyz')
    const run = play(venue, { dexes: 'all' })
    run.advance(60_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A'])
    list('xyz', 'new')
    run.advance(HOUR_MS)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'new:A', 'xyz:A'])
    const begun = asked(venue, 'metaAndAssetCtxs', '"xyz"')
    expect(begun, 'one that is followed is not begun again').toHaveLength(1)
  })

  test('a name that occurs twice in a list is followed once', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'xyz:A'] })
    deployed(venue)('xyz', 'xyz')
    play(venue, { dexes: 'all' }).advance(60_000)
    expect(asked(venue, 'metaAndAssetCtxs', '"xyz"')).toHaveLength(1)
  })

  test('a list of more than there can be is a fault, in one piece and little by little', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'xyz:A'] })
    const list = deployed(venue)
    const many = Array.from({ length: DEXES_MAX }, (_, at) => `made${at}`)
    list('xyz', ...many)
    const run = play(venue, { dexes: 'all' })
    run.advance(60_000)
    expect(venue.subscribed('l2Book'), 'none of it is believed').toEqual(['BTC'])
    list('xyz')
    run.advance(HOUR_MS)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A'])
    list(...many)
    run.advance(HOUR_MS)
    expect(asked(venue, 'metaAndAssetCtxs', '"made'), 'nor what comes later').toEqual([])
  })

  test('stay listed as the engine knew them until they answer, and are subscribed from then on', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'xyz:A', 'xyz:B'] })
    const answer = listing(venue, 'xyz:B')
    const known = ['BTC', 'xyz:A', 'xyz:B'].map((coin) => ({
      ...{ coin, sizeDecimals: 2, maxLeverage: 10, isDelisted: false },
      marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
    }))
    const run = play(venue, { dexes: ['xyz'], known })
    const listed = () => run.of('universe').map(({ listings }) => listings.map(({ coin }) => coin))
    run.advance(10_000)
    expect(listed()).toEqual([['BTC', 'xyz:A', 'xyz:B']])
    expect(venue.subscribed('l2Book')).toEqual(['BTC'])
    answer()
    run.advance(60_000)
    expect(listed().at(-1)).toEqual(['BTC', 'xyz:B'])
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:B'])
  })

  test('a universe that hangs does not keep history from being asked', () => {
    const venue = new ScriptedVenue({ coins: ['BTC'] })
    const run = play(venue, { needs })
    run.advance(30_000)
    venue.reply = (body) => {
      venue.replyAfterMs = JSON.stringify(body).includes('"meta"') ? 1e9 : 50
      return undefined
    }
    run.advance(300_000)
    const before = venue.candleRequests.length
    for (let minute = 0; minute < 10; minute += 1) {
      run.forget('BTC')
      run.advance(60_000)
    }
    expect(venue.candleRequests.length - before).toBeGreaterThanOrEqual(5)
  })
})

describe('a universe that cannot be', () => {
  const known = ['A', 'B', 'C']
  const universes = (run: ReturnType<typeof play>) =>
    run.of('universe').map(({ listings }) => listings.map(({ coin }) => coin).join(' '))

  test.each([
    ['shorter', ['A', 'B']],
    ['with another name in a known place', ['A', 'X', 'C']],
    ['of which a coin is delisted', ['A', '-B', 'C']],
  ])('%s is believed once it was told three times', (_, coins) => {
    const venue = new ScriptedVenue({ coins: known })
    const run = play(venue)
    run.advance(59_000)
    venue.coins = coins
    run.advance(6_000)
    expect(universes(run)).toEqual(['A B C'])
    run.advance(60_000)
    expect(universes(run)).toEqual(['A B C', coins.join(' ').replace('-', '')])
    const alive = coins.filter((coin) => !coin.startsWith('-'))
    expect(venue.subscribed('trades').toSorted()).toEqual(alive.toSorted())
  })

  test.each([[['A']], [['A', '-B', 'C']]])('(%j) and is taken back loses no coin', (coins) => {
    const venue = new ScriptedVenue({ coins: known })
    const run = play(venue)
    run.advance(59_000)
    venue.coins = coins
    run.advance(2_000)
    venue.coins = known
    run.advance(120_000)
    expect(universes(run)).toEqual(['A B C'])
    expect(run.notices).toContainEqual(
      expect.objectContaining({ request: 'meta', reason: 'reply_rejected: universe_changed' }),
    )
  })
})

describe('a list of coins that is contradicted', () => {
  const metas = (venue: ScriptedVenue) =>
    venue.requests.filter(({ body }) => JSON.stringify(body) === '{"type":"meta"}')
  /** Of each coin its own open interest; contexts come when the test says so. */
  const begun = (coins: readonly string[]) => {
    const venue = new ScriptedVenue({ coins })
    const usual = venue.context('A')
    const interestOf = (coin: string) => coin.charCodeAt(0)
    venue.context = (coin) => ({ ...usual, openInterest: String(interestOf(coin)) })
    venue.isTelling = (type) => type !== 'allDexsAssetCtxs'
    const run = play(venue)
    const wrong = () =>
      run
        .of('context')
        .filter(({ coin, openInterestBase }) => openInterestBase !== interestOf(coin))
    return { venue, run, wrong }
  }

  test('gives no coin the figures of another, and is decided within 15 s of the reply that contradicts it', () => {
    const { venue, run, wrong } = begun(['A', 'B', 'C'])
    run.advance(59_500)
    venue.coins = ['A', 'C', 'D']
    run.advance(1_000)
    expect(run.notices).toContainEqual(
      expect.objectContaining({ reason: 'reply_rejected: universe_changed' }),
    )
    const before = run.of('context').length
    venue.sendContexts()
    run.advance(1_000)
    expect(run.of('context').slice(before), 'nobody knows whose they are').toEqual([])
    run.advance(14_000)
    venue.sendContexts()
    run.advance(100)
    expect(run.of('context').slice(before)).toMatchObject([
      { coin: 'A' },
      { coin: 'C' },
      { coin: 'D' },
    ])
    expect(wrong()).toEqual([])
  })

  test('by a frame is requested immediately, and valid again after two replies, 5 s apart', () => {
    const { venue, run } = begun(['A', 'B'])
    run.advance(30_000)
    expect(metas(venue)).toEqual([])
    venue.send({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', [venue.context('A')]]] } })
    run.advance(200)
    expect(metas(venue)).toHaveLength(1)
    const before = run.of('context').length
    venue.sendContexts()
    run.advance(6_000)
    expect(run.of('context')).toHaveLength(before)
    expect(metas(venue)).toHaveLength(2)
    venue.sendContexts()
    run.advance(100)
    expect(run.of('context')).toHaveLength(before + 2)
  })

  test('by itself, in turns without end, costs no more than a tenth of the weight', () => {
    const { venue, run } = begun(['A', 'B', 'C'])
    let isOther = false
    venue.reply = (body) => {
      if (JSON.stringify(body) === '{"type":"meta"}') {
        venue.coins = isOther ? ['A', 'B', 'C'] : ['A', 'C', 'D']
        isOther = !isOther
      }
      return undefined
    }
    run.advance(1_800_000)
    const minutes = 30
    expect((20 * metas(venue).length) / minutes).toBeLessThan(100)
    expect(run.of('universe')).toHaveLength(1)
  })

  test('of one dex has that one asked for, and no other', () => {
    const venue = new ScriptedVenue({ coins: ['A'] })
    const universe = {
      universe: [{ name: 'xyz:A', szDecimals: 2, maxLeverage: 10 }],
      marginTables: [],
    }
    venue.reply = (body) => {
      const { type, dex } = body as { readonly type: string; readonly dex?: string }
      if (dex === undefined) return undefined
      const reply = type === 'meta' ? universe : [universe, [venue.context('xyz:A')]]
      return { status: 200, body: JSON.stringify(reply) }
    }
    venue.isTelling = (type) => type !== 'allDexsAssetCtxs'
    const run = play(venue, { dexes: ['xyz'] })
    run.advance(30_000)
    const rows = ['xyz:A', 'xyz:B'].map((coin) => venue.context(coin))
    const ctxs = [
      ['', [venue.context('A')]],
      ['xyz', rows],
    ]
    const before = venue.requests.length
    venue.send({ channel: 'allDexsAssetCtxs', data: { ctxs } })
    run.advance(1_000)
    const asked = venue.requests.slice(before).map(({ body }) => body)
    expect(asked.filter((body) => JSON.stringify(body).includes('meta'))).toEqual([
      { type: 'meta', dex: 'xyz' },
    ])
  })
})

describe('a universe of which a name was bent on its way', () => {
  const known = ['BTC', 'kBONK'].map((coin) => ({
    ...{ coin, sizeDecimals: 2, maxLeverage: 10, isDelisted: false },
    marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
  }))

  test('is not believed by an engine that knew better before it was started again', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'oBONK'] })
    const run = play(venue, { known })
    run.advance(500)
    venue.coins = ['BTC', 'kBONK']
    run.advance(10_000)
    expect(run.of('universe').map(({ listings }) => listings.map(({ coin }) => coin))).toEqual([
      ['BTC', 'kBONK'],
    ])
    expect(venue.subscribed('trades')).toEqual(['BTC', 'kBONK'])
  })

  test('lists that name as long as the venue does, and never subscribes it', () => {
    const venue = new ScriptedVenue({ coins: ['BTC', 'kBONK', 'NEV'] })
    const run = play(venue, { known })
    run.advance(500)
    venue.coins = ['BTC', 'kBONK', 'NEW']
    run.advance(120_000)
    const said = venue.sockets.flatMap(({ heard }) => heard.map(({ text }) => text))
    expect(said.join()).not.toContain('NEV')
    expect(venue.subscribed('trades')).toEqual(['BTC', 'kBONK', 'NEW'])
  })
})

describe('a name that the websocket does not know', () => {
  const needs = (_: string, nowMs: number) => [
    { timeframe: '15m', fromMs: nowMs - HOUR_MS } as const,
  ]

  test('costs only its own coin: others subscribed with it are tested separately and subscribed again', () => {
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

  test('is not suspected where the venue fell mute, and nobody is', () => {
    const coins = Array.from({ length: 300 }, (_, index) => `C${index}`)
    const venue = new ScriptedVenue({ coins })
    venue.isPonging = false
    venue.isLosing = () => true
    const run = play(venue, { needs })
    run.advance(120_000)
    expect(run.notices).toContainEqual(expect.objectContaining({ reason: 'pong_missing' }))
    expect(run.notices.filter(({ kind }) => kind === 'quarantined')).toEqual([])
  })

  test('is tried on a new connection where the one for trying falls mute', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'BAD'] })
    venue.poison.add('BAD')
    const run = play(venue, { sockets: 2, needs })
    run.advance(500)
    expect(run.notices.map(({ kind }) => kind)).toContain('quarantined')
    venue.poison.clear()
    venue.isLosing = ({ coin }) => coin === 'BAD'
    run.advance(20_000)
    venue.isLosing = () => false
    run.advance(40_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['A', 'BAD'])
  })

  test('is tried more and more rarely while there is no connection to try it on', () => {
    const venue = new ScriptedVenue({ coins: ['A', 'BAD', 'C', 'D'] })
    venue.poison.add('BAD')
    const run = play(venue, { needs })
    run.advance(500)
    expect(run.notices.map(({ kind }) => kind)).toContain('quarantined')
    venue.poison.clear()
    venue.isRefusing = true
    run.advance(300_000)
    const others = run.notices.filter(({ kind }) => kind === 'reconnect').length
    expect(venue.connectionsMs.length - others).toBeLessThan(12)
    venue.isRefusing = false
    run.advance(120_000)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['A', 'BAD', 'C', 'D'])
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
