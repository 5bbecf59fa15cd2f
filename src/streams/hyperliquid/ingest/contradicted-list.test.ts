import { deflateRawSync } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { beforeEach, describe, expect } from 'vitest'
import type { ContextEvent } from '../../../domain/event.ts'
import { Ingest } from './ingest.ts'

const START_MS = Date.UTC(2026, 0, 1)
const CONTEXTS_PERIOD_MS = 13_600

/** A coin's own figures: whose a context is, its open interest tells. */
type Figures = {
  readonly price: number
  readonly openInterestBase: number
  readonly impact?: number
}

const figures = new Map<string, Figures>([
  ['A', { price: 100, openInterestBase: 1_000 }],
  ['B', { price: 20, openInterestBase: 2_000 }],
  ['C', { price: 3, openInterestBase: 3_000 }],
  ['D', { price: 0.4, openInterestBase: 4_000 }],
  // At the price of B, as of something pegged to the same.
  ['TWIN', { price: 20.01, openInterestBase: 5_000 }],
  ['NEAR', { price: 20.2, openInterestBase: 9_000 }],
  ['xyz:A', { price: 50, openInterestBase: 6_000 }],
  ['xyz:B', { price: 7, openInterestBase: 7_000 }],
  ['other:A', { price: 9, openInterestBase: 8_000 }],
])

describe('a list of coins that is contradicted', () => {
  let ingest: Ingest
  let nowMs: number

  beforeEach(() => {
    ingest = new Ingest({ sockets: 1 })
    nowMs = START_MS
    reply(['A', 'B', 'C'])
  })

  const reply = (coins: readonly string[], dex = '') => {
    nowMs += 100
    const universe = coins.map((name) => ({ name, szDecimals: 2, maxLeverage: 10 }))
    const body = JSON.stringify({ universe, marginTables: [] })
    return ingest.process({ kind: 'universe', request: 'meta', dex, body }, nowMs)
  }
  const frame = (channel: string, data: unknown) =>
    ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) }, nowMs)
  /** By name. */
  const marks = (...coins: readonly string[]) => frame('fastAssetCtxs', marksOf(coins))
  /** By place. @returns whose open interest each coin was given */
  const contexts = (
    coins: readonly string[],
    others: readonly [string, readonly string[]][] = [],
  ) => {
    const ofDex = (list: readonly string[]) => list.map(row)
    const ctxs = [['', ofDex(coins)], ...others.map(([dex, list]) => [dex, ofDex(list)])]
    return givenBy(frame('allDexsAssetCtxs', { ctxs }).batch)
  }

  test('by a reply that is refused gives no row without a name to the coin at its place', () => {
    expect(contexts(['A', 'B', 'C'])).toEqual({ A: 'A', B: 'B', C: 'C' })
    expect(reply(['A', 'C', 'D'])).toMatchObject({ reason: 'universe_changed' })
    expect(contexts(['A', 'C', 'D']), 'the venue has moved on').toEqual({})
  })

  test('gives a row to the coin whose price by name it has', () => {
    reply(['A', 'C', 'D'])
    marks('A', 'C', 'D')
    expect(contexts(['A', 'C', 'D'])).toEqual({ A: 'A' })
  })

  test('is not confirmed by rows that are repeated', () => {
    reply(['A', 'C', 'D'])
    for (let frames = 0; frames < 20; frames += 1) {
      nowMs += CONTEXTS_PERIOD_MS
      expect(contexts(['A', 'C', 'D'])).toEqual({})
    }
  })

  test('by a refused reply is the list again once two replies have it', () => {
    reply(['A', 'C', 'D'])
    reply(['A', 'B', 'C'])
    expect(ingest.isContradicted(''), 'one reply may have been made before').toBe(true)
    expect(contexts(['A', 'B', 'C'])).toEqual({})
    reply(['A', 'B', 'C'])
    expect(contexts(['A', 'B', 'C'])).toEqual({ A: 'A', B: 'B', C: 'C' })
  })

  test('is replaced by three equal replies', () => {
    for (let replies = 0; replies < 3; replies += 1) reply(['A', 'C', 'D'])
    expect(ingest.isContradicted('')).toBe(false)
    expect(contexts(['A', 'C', 'D'])).toEqual({ A: 'A', C: 'C', D: 'D' })
  })

  test('is not replaced by three replies that differ', () => {
    reply(['A', 'C', 'D'])
    reply(['A', 'D', 'C'])
    expect(reply(['A', 'C', 'D'])).toMatchObject({ reason: 'universe_changed' })
    expect(contexts(['A', 'C', 'D'])).toEqual({})
  })

  test.each([
    ['in another order', ['B', 'A', 'C']],
    ['renumbered after a coin was taken out', ['B', 'C', 'D']],
    ['with a coin in the middle replaced', ['A', 'D', 'C']],
  ])(
    'by prices alone, before any reply tells (%s): no coin gets the figures of another',
    (_, list) => {
      marks('A', 'B', 'C')
      const given = contexts(list)
      expect(wrongIn(given)).toEqual([])
      expect(ingest.isContradicted('')).toBe(true)
    },
  )

  test('by two coins that change places a hundredth of their price apart', () => {
    for (let replies = 0; replies < 3; replies += 1) reply(['A', 'B', 'NEAR'])
    marks('A', 'B', 'NEAR')
    expect(contexts(['A', 'NEAR', 'B'])).toEqual({ A: 'A' })
  })

  test('is not a price that moved by a hundredth where no other coin is', () => {
    marks('A', 'B', 'C')
    const rows = [row('A'), { ...row('B'), markPx: '20.2' }, row('C')]
    const { batch, contradicted } = frame('allDexsAssetCtxs', { ctxs: [['', rows]] })
    expect(givenBy(batch)).toEqual({ A: 'A', B: 'B', C: 'C' })
    expect(contradicted).toEqual([])
  })

  test.each([
    ['more', ['A', 'D', 'B', 'C']],
    ['fewer', ['A', 'C']],
  ])('by a frame with %s rows, which then has as many again, is in question still', (_, list) => {
    expect(contexts(list)).toEqual({})
    expect(contexts(['A', 'C', 'D']), 'of a list that nobody has read yet').toEqual({})
    marks('A', 'C', 'D')
    expect(contexts(['A', 'C', 'D'])).toEqual({ A: 'A' })
  })

  test('asks for the list once: what contradicts it before it is decided is nothing new', () => {
    expect(frame('allDexsAssetCtxs', { ctxs: [['', [row('A')]]] }).contradicted).toEqual([''])
    expect(frame('allDexsAssetCtxs', { ctxs: [['', [row('A')]]] }).contradicted).toEqual([])
    reply(['A', 'B', 'C'])
    reply(['A', 'B', 'C'])
    expect(frame('allDexsAssetCtxs', { ctxs: [['', [row('A')]]] }).contradicted).toEqual([''])
  })

  test.each([
    ['fastAssetCtxs', () => marksOf(['D'])],
    ['l2Book', () => ({ coin: 'D', time: START_MS, levels: [[], []] })],
    ['activeAssetCtx', () => ({ coin: 'D', ctx: row('D') })],
    ['trades', () => [{ coin: 'D', px: '1', sz: '1' }]],
  ])('by a coin that it lacks, in %s', (channel, data) => {
    expect(frame(channel, data()).contradicted).toEqual([''])
    expect(contexts(['A', 'C', 'D'])).toEqual({})
  })

  test('a coin that two replies do not list contradicts the list no more', () => {
    marks('D')
    reply(['A', 'B', 'C'])
    reply(['A', 'B', 'C'])
    marks('D')
    expect(contexts(['A', 'B', 'C'])).toEqual({ A: 'A', B: 'B', C: 'C' })
  })

  test('by a coin that was appended holds the new list with the first reply', () => {
    marks('A', 'B', 'C', 'D')
    reply(['A', 'B', 'C', 'D'])
    expect(contexts(['A', 'B', 'C', 'D'])).toEqual({ A: 'A', B: 'B', C: 'C', D: 'D' })
  })

  test.each([
    ['listed', ['A', 'B', 'TWIN']],
    ['not listed yet', ['A', 'B', 'C']],
  ])('leaves a row without a coin where two have its price (the other is %s)', (_, list) => {
    for (let replies = 0; replies < 3; replies += 1) reply(list)
    marks('A', 'B', 'C', 'TWIN')
    reply(['B', 'A', 'TWIN'])
    expect(contexts(['A', 'TWIN', 'C'])['B']).toBeUndefined()
  })

  test('of one dex leaves the rows of the others to their coins', () => {
    reply(['xyz:A', 'xyz:B'], 'xyz')
    reply(['xyz:B', 'xyz:A'], 'xyz')
    expect(contexts(['A', 'B', 'C'], [['xyz', ['xyz:B', 'xyz:A']]])).toEqual({
      A: 'A',
      B: 'B',
      C: 'C',
    })
    expect(ingest.isContradicted('')).toBe(false)
    expect(ingest.isContradicted('xyz')).toBe(true)
  })

  test('a coin of a followed dex that its list lacks contradicts that dex alone', () => {
    reply(['xyz:A'], 'xyz')
    marks('xyz:B', 'other:A')
    expect([ingest.isContradicted(''), ingest.isContradicted('xyz')]).toEqual([false, true])
  })

  test('rows that come twice under one dex belong to none of its coins', () => {
    const ctxs = [
      ['', ['A', 'B', 'C'].map(row)],
      ['', ['A', 'C', 'D'].map(row)],
    ]
    expect(givenBy(frame('allDexsAssetCtxs', { ctxs }).batch)).toEqual({})
  })

  test('books tell whose a row is where marks are silent', () => {
    for (const coin of ['A', 'B', 'C']) frame('l2Book', book(coin, nowMs))
    reply(['A', 'C', 'D'])
    expect(contexts(['A', 'C', 'D'])).toEqual({ A: 'A' })
  })

  test('a price by name that is old confirms nothing', () => {
    marks('A', 'B', 'C')
    reply(['A', 'C', 'D'])
    nowMs += 20_000
    expect(contexts(['A', 'C', 'D'])).toEqual({})
  })

  test('a mark from before the connection was lost confirms nothing over the next one', () => {
    marks('A', 'B', 'C')
    ingest.process({ kind: 'lost', socket: 0, reason: 'socket_closed', coins: [] }, nowMs)
    reply(['A', 'C', 'D'])
    nowMs += 20_000
    frame('fastAssetCtxs', marksOf(['C']))
    expect(contexts(['A', 'C', 'D'])).toEqual({})
  })

  test('what a coin of its own channel reports is that coin’s, whatever the list', () => {
    reply(['A', 'C', 'D'])
    expect(givenBy(frame('activeAssetCtx', { coin: 'B', ctx: row('B') }).batch)).toEqual({ B: 'B' })
  })

  test('after a day away begins with what the venue lists now', () => {
    const known = ['A', 'B', 'C'].map((coin) => ({
      ...{ coin, sizeDecimals: 2, maxLeverage: 10, isDelisted: false },
      marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
    }))
    ingest = new Ingest({ sockets: 1, known })
    expect(reply(['A', 'C', 'D'])).toMatchObject({ reason: 'universe_changed' })
    expect(contexts(['A', 'C', 'D']), 'of no list').toEqual({})
    reply(['A', 'C', 'D'])
    reply(['A', 'C', 'D'])
    expect(contexts(['A', 'C', 'D'])).toEqual({ A: 'A', C: 'C', D: 'D' })
  })

  describe('by a figure that contradicts the one before', () => {
    const jumped = () => {
      const rows = ['A', 'B', 'C'].map(row)
      rows[1] = { ...row('B'), openInterest: '90000.0' }
      return frame('allDexsAssetCtxs', { ctxs: [['', rows]] })
    }

    beforeEach(() => {
      contexts(['A', 'B', 'C'])
      nowMs += CONTEXTS_PERIOD_MS
    })

    test('is not believed because the rows without names repeat it', () => {
      expect(jumped().contradicted).toEqual([''])
      for (let frames = 0; frames < 10; frames += 1) {
        nowMs += CONTEXTS_PERIOD_MS
        expect(jumped().batch).toEqual([])
      }
    })

    test('keeps the other rows of its frame, too, from coins that may not be theirs', () => {
      const rows = [row('A'), { ...row('C'), openInterest: '90000.0' }, row('D')]
      expect(givenBy(frame('allDexsAssetCtxs', { ctxs: [['', rows]] }).batch)).toEqual({})
    })

    test('is believed repeated once the list is confirmed', () => {
      jumped()
      reply(['A', 'B', 'C'])
      reply(['A', 'B', 'C'])
      nowMs += CONTEXTS_PERIOD_MS
      expect(jumped().batch).toContainEqual(
        expect.objectContaining({ coin: 'B', openInterestBase: 90_000 }),
      )
    })

    test('is believed repeated in a row that has the price of its coin by name', () => {
      marks('A', 'B', 'C')
      expect(jumped().contradicted).toEqual([])
      nowMs += CONTEXTS_PERIOD_MS
      marks('A', 'B', 'C')
      expect(jumped().batch).toContainEqual(
        expect.objectContaining({ coin: 'B', openInterestBase: 90_000 }),
      )
    })
  })
})

describe('an impact price half as far from the mid as the mid is from nothing', () => {
  const reported = (channel: 'place' | 'name', impactPxs: readonly string[]) => {
    const ingest = new Ingest({ sockets: 1 })
    const body = JSON.stringify({ universe: [{ name: 'A', szDecimals: 2, maxLeverage: 10 }] })
    ingest.process({ kind: 'universe', request: 'meta', dex: '', body }, START_MS)
    const ctx = { ...row('A'), impactPxs }
    const message =
      channel === 'place'
        ? { channel: 'allDexsAssetCtxs', data: { ctxs: [['', [ctx]]] } }
        : { channel: 'activeAssetCtx', data: { coin: 'A', ctx } }
    const { batch } = ingest.process(
      { kind: 'frame', socket: 0, text: JSON.stringify(message) },
      START_MS + 100,
    )
    return batch.find((event): event is ContextEvent => event.kind === 'context')
  }

  test.each(['place', 'name'] as const)('is null, and the other one with it (by %s)', (channel) => {
    expect(reported(channel, ['49', '101'])).toMatchObject({ impactBid: null, impactAsk: null })
    expect(reported(channel, ['99', '151'])).toMatchObject({ impactBid: null, impactAsk: null })
    expect(reported(channel, ['60', '140'])).toMatchObject({ impactBid: 60, impactAsk: 140 })
  })
})

describe('whatever happens to a list', () => {
  const coins = Array.from({ length: 12 }, (_, at) => `C${at}`)
  const all = [...coins, 'NEW0', 'NEW1', 'NEW2']
  const lists = fc.uniqueArray(fc.constantFrom(...all), { minLength: 10, maxLength: 14 })

  test.prop([lists, fc.array(fc.constantFrom('marks', 'reply', 'contexts'), { maxLength: 12 })])(
    'no coin is given the figures of another while prices by name come',
    (list, arrivals) => {
      for (const [at, coin] of all.entries())
        figures.set(coin, { price: 1.1 ** at, openInterestBase: 10_000 + at })
      const ingest = new Ingest({ sockets: 1 })
      const universe = (names: readonly string[]) =>
        JSON.stringify({
          universe: names.map((name) => ({ name, szDecimals: 2, maxLeverage: 10 })),
        })
      const heard = (channel: string, data: unknown, nowMs: number) =>
        ingest.process({ kind: 'frame', socket: 0, text: JSON.stringify({ channel, data }) }, nowMs)
          .batch
      const reply = (names: readonly string[], nowMs: number) =>
        ingest.process({ kind: 'universe', request: 'meta', dex: '', body: universe(names) }, nowMs)
      reply(coins, START_MS)
      heard('fastAssetCtxs', marksOf(all.slice(0, 12)), START_MS)
      for (const [at, arrival] of ['marks', ...arrivals].entries()) {
        const nowMs = START_MS + (at + 1) * 1_000
        if (arrival === 'reply') reply(list, nowMs)
        else if (arrival === 'marks') heard('fastAssetCtxs', marksOf(list), nowMs)
        else {
          const ctxs = [['', list.map(row)]]
          expect(wrongIn(givenBy(heard('allDexsAssetCtxs', { ctxs }, nowMs)))).toEqual([])
        }
      }
    },
  )
})

function figuresOf(coin: string): Figures {
  const own = figures.get(coin)
  if (own === undefined) throw new Error(`${coin} has no figures`)
  return own
}

function row(coin: string): Record<string, unknown> {
  const { price, openInterestBase } = figuresOf(coin)
  const px = String(price)
  return {
    ...{ funding: '0.00001', openInterest: `${openInterestBase}.0`, prevDayPx: px },
    ...{ dayNtlVlm: '1000000.0', premium: '0.0', oraclePx: px, markPx: px, midPx: px },
    ...{ impactPxs: [String(price * 0.999), String(price * 1.001)], dayBaseVlm: '1.0' },
  }
}

function book(coin: string, time: number): unknown {
  const level = (px: number) => [{ px: px.toFixed(6), sz: '1', n: 1 }]
  const { price } = figuresOf(coin)
  return { coin, time, levels: [level(price * 0.9999), level(price * 1.0001)] }
}

function marksOf(coins: readonly string[]): string {
  const one = (coin: string) => {
    const px = String(figuresOf(coin).price)
    return [coin, { markPx: px, midPx: px }]
  }
  const json = JSON.stringify(Object.fromEntries(coins.map(one)))
  return deflateRawSync(json).toString('base64')
}

/** Of each coin that was given a context, the coin whose figures these are. */
function givenBy(batch: readonly { readonly kind: string }[]): Record<string, string | undefined> {
  const isContext = (event: { readonly kind: string }): event is ContextEvent =>
    event.kind === 'context'
  const ownerOf = (openInterestBase: number) =>
    [...figures].find(([, own]) => own.openInterestBase === openInterestBase)?.[0]
  return Object.fromEntries(
    batch.filter(isContext).map((event) => [event.coin, ownerOf(event.openInterestBase)]),
  )
}

function wrongIn(given: Record<string, string | undefined>): readonly string[] {
  return Object.entries(given).flatMap(([coin, owner]) => (owner === coin ? [] : [coin]))
}
