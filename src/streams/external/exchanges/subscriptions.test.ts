import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { bybit } from './bybit.ts'
import type { Product } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'
import type { Refusals } from './subscriptions.ts'
import { Subscriptions } from './subscriptions.ts'

const STEP_MS = 250
const HOUR_MS = 3_600_000

type Manner = {
  readonly isBatchAtomic: boolean
  /** Whether it says which product it does not know. */
  readonly isNaming: boolean
  readonly batchMax: number
}

/** An exchange that knows some products, and answers in its manner. */
class Answering {
  readonly requests: (readonly string[])[] = []
  nowMs = 0
  readonly #known: ReadonlySet<string>
  readonly #manner: Manner

  constructor(known: readonly string[], manner: Manner) {
    this.#known = new Set(known)
    this.#manner = manner
  }

  get protocol(): ExchangeProtocol {
    const { isBatchAtomic, batchMax } = this.#manner
    const subscribe = (products: readonly string[]) => products.join()
    return { ...bybit, isBatchAtomic, batchMax, subscribe }
  }

  runUntil(untilMs: number, subscriptions: Subscriptions): void {
    for (; this.nowMs < untilMs; this.nowMs += STEP_MS) {
      const request = subscriptions.next(this.nowMs)
      if (request !== null) this.#answer(request.split(','), subscriptions)
    }
  }

  #answer(products: readonly string[], subscriptions: Subscriptions): void {
    this.requests.push(products)
    const { isBatchAtomic, isNaming } = this.#manner
    const unknown = products.filter((product) => !this.#known.has(product))
    if (isBatchAtomic) {
      const [first] = unknown
      if (first === undefined) subscriptions.accepted(null, this.nowMs)
      else subscriptions.refused(isNaming ? first : null, this.nowMs)
      return
    }
    for (const product of products) {
      if (!unknown.includes(product)) subscriptions.accepted([product], this.nowMs)
      else if (isNaming) subscriptions.refused(product, this.nowMs)
    }
  }
}

function productsOf(names: readonly string[]): readonly Product[] {
  return names.map((product) => ({ product, asset: product, quote: 'USDT', scale: 1 }))
}

const manners = fc.record({
  isBatchAtomic: fc.boolean(),
  isNaming: fc.boolean(),
  batchMax: fc.integer({ min: 1, max: 20 }),
})
const catalogs = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[A-Z]{1,5}$/), fc.boolean()), {
  selector: ([name]) => name,
  maxLength: 40,
})

test.prop([catalogs, manners])(
  'every product that the exchange knows is subscribed, once, whatever else was asked for',
  (catalog, manner) => {
    const known = catalog.filter(([, isKnown]) => isKnown).map(([name]) => name)
    const exchange = new Answering(known, manner)
    const subscriptions = new Subscriptions(exchange.protocol, new Map())
    subscriptions.want(productsOf(catalog.map(([name]) => name)))
    exchange.runUntil(HOUR_MS / 12, subscriptions)
    for (const [name, isKnown] of catalog)
      expect(subscriptions.acceptedMs(name) !== undefined, name).toBe(isKnown)
    for (const request of exchange.requests) {
      expect(request.length).toBeGreaterThan(0)
      expect(request.length).toBeLessThanOrEqual(manner.batchMax)
    }
    expect(exchange.requests.length).toBeLessThanOrEqual(4 * catalog.length + 1)
  },
)

describe('a request', () => {
  const naming = { isBatchAtomic: true, isNaming: true, batchMax: 10 }

  test('waits for the answer to the one before', () => {
    const subscriptions = new Subscriptions({ ...bybit, batchMax: 2 }, new Map())
    subscriptions.want(productsOf(['A', 'B', 'C']))
    expect(subscriptions.next(0)).toContain('orderbook.1.A')
    expect(subscriptions.next(9_999)).toBeNull()
    subscriptions.accepted(null, 9_999)
    expect(JSON.parse(subscriptions.next(10_000) ?? '')).toEqual({
      req_id: '2',
      op: 'subscribe',
      args: ['orderbook.1.C'],
    })
  })

  test('that is never answered is sent again in halves', () => {
    const subscriptions = new Subscriptions(bybit, new Map())
    subscriptions.want(productsOf(['A', 'B', 'C']))
    subscriptions.next(0)
    expect(subscriptions.next(10_000)).toContain('["orderbook.1.A","orderbook.1.B"]')
    subscriptions.accepted(null, 10_001)
    expect(subscriptions.next(10_250)).toContain('["orderbook.1.C"]')
  })

  test('is not answered by the late answer to the one before', () => {
    const subscriptions = new Subscriptions(bybit, new Map())
    subscriptions.want(productsOf(['A', 'B', 'C']))
    subscriptions.next(0)
    expect(subscriptions.next(10_000)).toContain('["orderbook.1.A","orderbook.1.B"]')
    subscriptions.refused(null, 10_001, 1)
    subscriptions.accepted(null, 10_002, 1)
    expect(subscriptions.acceptedMs('A'), 'nor accepted by it').toBeUndefined()
    expect(subscriptions.next(10_250), 'it waits still').toBeNull()
    subscriptions.accepted(null, 10_251, 2)
    expect(subscriptions.acceptedMs('A')).toBe(10_251)
  })

  test('names what was refused again only after six hours, also on another connection', () => {
    const refusals: Refusals = new Map()
    const exchange = new Answering(['A'], naming)
    const first = new Subscriptions(exchange.protocol, refusals)
    first.want(productsOf(['A', 'NOPE']))
    exchange.runUntil(HOUR_MS, first)
    expect(exchange.requests).toEqual([['A', 'NOPE'], ['A']])
    const second = new Subscriptions(exchange.protocol, refusals)
    second.want(productsOf(['A', 'NOPE']))
    exchange.runUntil(7 * HOUR_MS, second)
    expect(exchange.requests.slice(2)).toEqual([['A'], ['NOPE']])
  })

  test('is not made again for what is quoted anyway', () => {
    const exchange = new Answering(['A'], naming)
    const subscriptions = new Subscriptions(exchange.protocol, new Map())
    subscriptions.want(productsOf(['A']))
    subscriptions.accepted(['A'], 0)
    exchange.runUntil(HOUR_MS / 60, subscriptions)
    expect(exchange.requests).toEqual([])
  })

  test('a word about a product that nobody asked for changes nothing', () => {
    const refusals: Refusals = new Map()
    const subscriptions = new Subscriptions(bybit, refusals)
    subscriptions.refused('OTHER', 0)
    subscriptions.accepted(['OTHER'], 0)
    expect([refusals.size, subscriptions.acceptedMs('OTHER')]).toEqual([0, undefined])
  })
})
