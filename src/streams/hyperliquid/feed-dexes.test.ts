import { beforeEach, describe, expect, test } from 'vitest'
import type { DexStatus } from '../../domain/dex.ts'
import { SubscriptionPlan } from './session/subscription-plan.ts'
import type { FeedRun } from './testing/feed-run.ts'
import { play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'

const MINUTE_MS = 60_000
/** Replaces the day between two selections. */
const DAY_MS = 30 * MINUTE_MS
const USDH = 6

type Scripted = {
  readonly coins: readonly string[]
  /** Contracts of each coin, at a mark of 100. The main dex has 1,000,000. */
  interest: number
  readonly token?: number
}

/** Dexes above and below the limit, one in a priced unit, one in a unit that nothing prices. */
describe('dexes that are chosen', () => {
  let venue: ScriptedVenue
  let dexes: Record<string, Scripted>
  let usdhPrice: string | null
  let statuses: readonly DexStatus[]
  let run: FeedRun
  let recalled: string[]
  const asked = (...texts: readonly string[]) =>
    venue.requests.filter(({ body }) => texts.every((text) => JSON.stringify(body).includes(text)))
  const followed = () => statuses.filter(({ isFollowed }) => isFollowed).map(({ name }) => name)
  const listed = () =>
    run
      .of('universe')
      .at(-1)
      ?.listings.map(({ coin }) => coin)
  const statusOf = (name: string) => statuses.find((dex) => dex.name === name)

  const start = (known: readonly string[] = []) => {
    run = play(venue, {
      dexes: 'auto',
      dexPeriodMs: DAY_MS,
      onDexes: (told) => {
        statuses = told
      },
      loadHistory: (coin) => {
        recalled.push(coin)
        return null
      },
      known: known.map((coin) => ({
        ...{ coin, sizeDecimals: 2, maxLeverage: 10, isDelisted: false },
        marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
        ...(coin.includes(':') && { collateralToken: 0 }),
      })),
    })
  }

  beforeEach(() => {
    dexes = {
      xyz: { coins: ['xyz:A', 'xyz:B'], interest: 50_000 },
      flx: { coins: ['flx:A'], interest: 5_000, token: USDH },
      odd: { coins: ['odd:A'], interest: 90_000, token: 5 },
    }
    usdhPrice = '0.9'
    statuses = []
    recalled = []
    const coins = ['BTC', 'xyz:A', 'xyz:B', 'flx:A', 'odd:A']
    venue = new ScriptedVenue({ coins })
    venue.isTelling = (type) => type === 'l2Book'
    venue.dayNotional = (coin) => (coin === 'BTC' ? 1e9 : 1)
    venue.reply = (body) => {
      const answer = answerTo(body as { readonly type: string; readonly dex?: string })
      return answer === undefined ? undefined : { status: 200, body: JSON.stringify(answer) }
    }
  })

  function answerTo({ type, dex }: { readonly type: string; readonly dex?: string }): unknown {
    if (type === 'perpDexs')
      return [null, ...Object.keys(dexes).map((name) => ({ name, fullName: `${name} Exchange` }))]
    if (type === 'spotMetaAndAssetCtxs') {
      const names = ['USDC', 'PURR', 'HFUN', 'LICK', 'HYPE', 'USDE', 'USDH']
      const tokens = names.map((name, index) => ({ name, index }))
      const pair = { name: '@230', tokens: [USDH, 0], index: 230 }
      const px = usdhPrice ?? '1.0'
      const context = { coin: '@230', midPx: usdhPrice, markPx: px, dayNtlVlm: '3100000.0' }
      return [{ tokens, universe: [pair] }, [context]]
    }
    if (type !== 'meta' && type !== 'metaAndAssetCtxs') return undefined
    const of = dex === undefined ? { coins: ['BTC'], interest: 1_000_000 } : dexes[dex]
    if (of === undefined) return undefined
    const universe = of.coins.map((name) => ({ name, szDecimals: 2, maxLeverage: 10 }))
    const meta = { universe, marginTables: [], collateralToken: ('token' in of && of.token) || 0 }
    const contexts = of.coins.map((coin) => ({
      ...venue.context(coin),
      openInterest: String(of.interest),
    }))
    return type === 'meta' ? meta : [meta, contexts]
  }

  test('are those with 1 % of the venue, and the others are reported with their reason', () => {
    start()
    run.advance(MINUTE_MS)
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A', 'xyz:B'])
    expect(listed()).toEqual(['BTC', 'xyz:A', 'xyz:B'])
    // 100,000 and 5,000 x 0.9 of 1,104,500 contracts; what nothing prices is in no sum.
    expect(statuses).toMatchObject([
      {
        ...{ name: 'xyz', fullName: 'xyz Exchange', isFollowed: true, reason: null, coins: 2 },
        ...{ quoteUnit: 'USDC', coinsLeftOut: 0 },
      },
      {
        ...{ name: 'flx', isFollowed: false, reason: 'share_below_minimum', coins: 1 },
        quoteUnit: 'USDH',
      },
      {
        ...{ name: 'odd', isFollowed: false, reason: 'collateral_unpriced', sharePct: null },
        quoteUnit: 'USDE',
      },
    ])
    expect(statusOf('xyz')?.sharePct).toBeCloseTo((100 * 100_000) / 1_104_500, 6)
    expect(statusOf('flx')?.sharePct).toBeCloseTo((100 * 4_500) / 1_104_500, 6)
  })

  test('cost a look at each of them a day, and a list every five minutes of those that are followed', () => {
    start()
    run.advance(MINUTE_MS)
    const atFirst = ['perpDexs', 'spotMetaAndAssetCtxs', 'metaAndAssetCtxs']
    expect(atFirst.map((type) => asked(`"${type}"`).length)).toEqual([1, 1, 6])
    run.advance(DAY_MS - 2 * MINUTE_MS)
    expect(asked('"metaAndAssetCtxs"')).toHaveLength(6)
    run.advance(2 * MINUTE_MS)
    expect(asked('"metaAndAssetCtxs"')).toHaveLength(10)
    expect(asked('"meta"', '"flx"')).toEqual([])
  })

  test('one that has grown is followed from the next day on, and its unit priced every minute', () => {
    start()
    run.advance(MINUTE_MS)
    const [flx] = Object.values(dexes).slice(1)
    if (flx !== undefined) flx.interest = 40_000
    run.advance(DAY_MS / 2)
    expect(followed()).toEqual(['xyz'])
    run.advance(DAY_MS / 2 + MINUTE_MS)
    expect(followed()).toEqual(['xyz', 'flx'])
    expect(venue.subscribed('trades').toSorted()).toEqual(['BTC', 'flx:A', 'xyz:A', 'xyz:B'])
    const before = asked('spotMetaAndAssetCtxs').length
    run.advance(10 * MINUTE_MS)
    expect(asked('spotMetaAndAssetCtxs').length - before).toBeGreaterThanOrEqual(9)
    expect(run.of('collateral-prices').at(-1)?.tokens.at(-1)).toMatchObject({
      name: 'USDH',
      usdcPrice: 0.9,
    })
  })

  describe('one that has shrunk', () => {
    const shrink = (interest: number) => {
      const { xyz } = dexes
      if (xyz !== undefined) xyz.interest = interest
    }

    test('is left once two judgements agree, and disturbs no other', () => {
      start()
      run.advance(MINUTE_MS)
      shrink(1_000)
      const heard = venue.sockets.map((socket) => socket.heard.length)
      run.advance(DAY_MS)
      expect(followed(), 'one judgement alone').toEqual(['xyz'])
      run.advance(11 * MINUTE_MS)
      expect(followed()).toEqual([])
      expect(statusOf('xyz')).toMatchObject({ reason: 'share_below_minimum', coins: 2 })
      expect(listed()).toEqual(['BTC'])
      expect(venue.subscribed('l2Book')).toEqual(['BTC'])
      const since = venue.sockets.flatMap((socket, at) => socket.heard.slice(heard[at]))
      const changes = since.map(({ text }) => text).filter((text) => text.includes('"coin"'))
      expect(changes.length).toBeGreaterThan(0)
      for (const text of changes) expect(text).toContain('"xyz:')
      run.advance(DAY_MS / 2)
      expect(venue.subscribed('l2Book')).toEqual(['BTC'])
      expect(asked('"meta"', '"xyz"').at(-1)?.atMs).toBeLessThan(venue.nowMs - DAY_MS / 4)
    })

    test('stays where the second judgement finds otherwise', () => {
      start()
      run.advance(MINUTE_MS)
      shrink(1_000)
      run.advance(DAY_MS)
      shrink(50_000)
      run.advance(DAY_MS)
      expect(followed()).toEqual(['xyz'])
      expect(run.of('universe').every(({ listings }) => listings.length > 0)).toBe(true)
      expect(listed()).toEqual(['BTC', 'xyz:A', 'xyz:B'])
    })

    test('is no more listed by a reply that was on its way', () => {
      start()
      run.advance(MINUTE_MS)
      shrink(1_000)
      run.advance(DAY_MS + 9 * MINUTE_MS)
      expect(followed()).toEqual(['xyz'])
      venue.replyAfterMs = 25_000
      run.advance(6 * MINUTE_MS)
      expect(followed()).toEqual([])
      run.advance(MINUTE_MS)
      expect(listed()).toEqual(['BTC'])
    })

    test('comes back with its own history when it has grown again', () => {
      start(['BTC', 'xyz:A', 'xyz:B'])
      run.advance(MINUTE_MS)
      shrink(1_000)
      run.advance(DAY_MS + 11 * MINUTE_MS)
      expect(followed()).toEqual([])
      recalled.length = 0
      shrink(50_000)
      run.advance(DAY_MS)
      expect(followed()).toEqual(['xyz'])
      expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A', 'xyz:B'])
      expect(new Set(recalled)).toEqual(new Set(['xyz:A', 'xyz:B']))
    })
  })

  test('dexes of the previous run are followed immediately, before any selection', () => {
    start(['BTC', 'xyz:A', 'xyz:B'])
    run.advance(2_500)
    expect(statusOf('xyz')).toMatchObject({ isFollowed: true, judgedAtMs: null })
    expect(venue.subscribed('l2Book').toSorted()).toEqual(['BTC', 'xyz:A', 'xyz:B'])
  })

  test('one that the venue does not list any more is left', () => {
    start()
    run.advance(MINUTE_MS)
    dexes = { flx: { coins: ['flx:A'], interest: 5_000, token: USDH } }
    run.advance(DAY_MS + 11 * MINUTE_MS)
    expect(statuses.map(({ name }) => name)).toEqual(['flx'])
    expect(listed()).toEqual(['BTC'])
  })

  test('one that does not answer is asked again in ten minutes, and delays no other', () => {
    const whole = venue.reply
    venue.reply = (body) =>
      JSON.stringify(body).includes('"flx"') ? { status: 500, body: 'null' } : whole(body)
    start()
    run.advance(MINUTE_MS)
    expect(followed()).toEqual(['xyz'])
    expect(statusOf('flx')).toMatchObject({ reason: 'no_reply', sharePct: null, coins: null })
    venue.reply = whole
    run.advance(11 * MINUTE_MS)
    expect(statusOf('flx')).toMatchObject({ reason: 'share_below_minimum' })
  })

  test('nothing is selected or removed while the venue does not answer', () => {
    start(['BTC', 'xyz:A'])
    run.advance(MINUTE_MS)
    const whole = venue.reply
    venue.reply = () => ({ status: 500, body: 'null' })
    run.advance(2 * DAY_MS)
    expect(followed()).toEqual(['xyz'])
    expect(venue.subscribed('l2Book')).toContain('xyz:A')
    venue.reply = whole
    run.advance(10 * MINUTE_MS)
    expect(followed()).toEqual(['xyz'])
  })

  test('with less room than coins the most traded ones are followed, and the others are counted', () => {
    const { coinsMax } = new SubscriptionPlan(1)
    const many = Array.from({ length: coinsMax + 78 }, (_, at) => `xyz:C${at}`)
    dexes = { ...dexes, xyz: { coins: many, interest: 50_000 } }
    venue.coins = ['BTC', ...many, 'flx:A']
    const [, flx] = Object.values(dexes)
    if (flx !== undefined) flx.interest = 1_000_000
    start()
    run.advance(3 * MINUTE_MS)
    expect(venue.subscribed('l2Book')).toHaveLength(coinsMax)
    // One coin of the main dex is followed.
    expect(statusOf('xyz')).toMatchObject({
      ...{ isFollowed: true, coins: many.length, coinsLeftOut: many.length - coinsMax + 1 },
    })
    expect(statusOf('flx')).toMatchObject({ isFollowed: false, reason: 'subscription_budget' })
  })
})
