import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { bybit } from './bybit.ts'
import type { Product } from './products.ts'
import type { ExchangeProtocol } from './protocol.ts'
import type { Refusals } from './subscriptions.ts'
import { Subscriptions } from './subscriptions.ts'

const STEP_MS = 250
const HOUR_MS = 3_600_000

type Behaviour = {
  readonly isBatchAtomic: boolean
  /** Whether it names the unknown product. */
  readonly isNaming: boolean
  readonly batchMax: number
}

/** A simulated exchange that lists some products, with its behaviour. */
class Answering {
  readonly requests: (readonly string[])[] = []
  nowMs = 0
  readonly #known: ReadonlySet<string>
  readonly #behaviour: Behaviour

  constructor(known: readonly string[], behaviour: Behaviour) {
    this.#known = new Set(known)
    this.#behaviour = behaviour
  }

  get protocol(): ExchangeProtocol {
    const { isBatchAtomic, batchMax } = this.#behaviour
    const subscribe = (products: readonly string[]) => products.join()
    return { ...bybit, isBatchAtomic, batchMax, subscribe }
  }

  runUntil(untilMs: number, subscriptions: Subscriptions): void {
    for (; this.nowMs < untilMs; this.nowMs += STEP_MS) {
      const request = subscriptions.nextRequest(this.nowMs)
      if (request !== null) this.#answer(request.split(','), subscriptions)
    }
  }

  #answer(products: readonly string[], subscriptions: Subscriptions): void {
    this.requests.push(products)
    const { isBatchAtomic, isNaming } = this.#behaviour
    const unknown = products.filter((product) => !this.#known.has(product))
    if (isBatchAtomic) {
      const [first] = unknown
      if (first === undefined) subscriptions.accept(null, this.nowMs)
      else subscriptions.refuse(isNaming ? first : null, this.nowMs)
      return
    }
    for (const product of products) {
      if (!unknown.includes(product)) subscriptions.accept([product], this.nowMs)
      else if (isNaming) subscriptions.refuse(product, this.nowMs)
    }
  }
}

function productsOf(names: readonly string[]): readonly Product[] {
  return names.map((product) => ({ product, asset: product, quote: 'USDT', scale: 1 }))
}

const behaviours = fc.record({
  isBatchAtomic: fc.boolean(),
  isNaming: fc.boolean(),
  batchMax: fc.integer({ min: 1, max: 20 }),
})
const catalogs = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[A-Z]{1,5}$/), fc.boolean()), {
  selector: ([name]) => name,
  maxLength: 40,
})

test.prop([catalogs, behaviours])(
  'every listed product is subscribed once, whatever else is requested',
  (catalog, behaviour) => {
    const known = catalog.filter(([, isKnown]) => isKnown).map(([name]) => name)
    const exchange = new Answering(known, behaviour)
    const subscriptions = new Subscriptions(exchange.protocol, new Map())
    subscriptions.add(productsOf(catalog.map(([name]) => name)))
    exchange.runUntil(HOUR_MS / 12, subscriptions)
    for (const [name, isKnown] of catalog)
      expect(subscriptions.acceptedMs(name) !== undefined, name).toBe(isKnown)
    for (const request of exchange.requests) {
      expect(request.length).toBeGreaterThan(0)
      expect(request.length).toBeLessThanOrEqual(behaviour.batchMax)
    }
    expect(exchange.requests.length).toBeLessThanOrEqual(4 * catalog.length + 1)
  },
)

describe('a request', () => {
  const naming = { isBatchAtomic: true, isNaming: true, batchMax: 10 }

  test('waits for the answer to the previous one', () => {
    const subscriptions = new Subscriptions({ ...bybit, batchMax: 2 }, new Map())
    subscriptions.add(productsOf(['A', 'B', 'C']))
    expect(subscriptions.nextRequest(0)).toContain('orderbook.1.A')
    expect(subscriptions.nextRequest(9_999)).toBeNull()
    subscriptions.accept(null, 9_999)
    expect(JSON.parse(subscriptions.nextRequest(10_000) ?? '')).toEqual({
      req_id: '2',
      op: 'subscribe',
      args: ['orderbook.1.C'],
    })
  })

  test('without an answer is sent again in halves', () => {
    const subscriptions = new Subscriptions(bybit, new Map())
    subscriptions.add(productsOf(['A', 'B', 'C']))
    subscriptions.nextRequest(0)
    expect(subscriptions.nextRequest(10_000)).toContain('["orderbook.1.A","orderbook.1.B"]')
    subscriptions.accept(null, 10_001)
    expect(subscriptions.nextRequest(10_250)).toContain('["orderbook.1.C"]')
  })

  test('is not answered by the late answer to the previous one', () => {
    const subscriptions = new Subscriptions(bybit, new Map())
    subscriptions.add(productsOf(['A', 'B', 'C']))
    subscriptions.nextRequest(0)
    expect(subscriptions.nextRequest(10_000)).toContain('["orderbook.1.A","orderbook.1.B"]')
    subscriptions.refuse(null, 10_001, 1)
    subscriptions.accept(null, 10_002, 1)
    expect(subscriptions.acceptedMs('A'), 'not accepted by a late answer').toBeUndefined()
    expect(subscriptions.nextRequest(10_250), 'the last request is still unanswered').toBeNull()
    subscriptions.accept(null, 10_251, 2)
    expect(subscriptions.acceptedMs('A')).toBe(10_251)
  })

  test('repeats a refused product after six hours, also on another connection', () => {
    const refusals: Refusals = new Map()
    const exchange = new Answering(['A'], naming)
    const first = new Subscriptions(exchange.protocol, refusals)
    first.add(productsOf(['A', 'NOPE']))
    exchange.runUntil(HOUR_MS, first)
    expect(exchange.requests).toEqual([['A', 'NOPE'], ['A']])
    const second = new Subscriptions(exchange.protocol, refusals)
    second.add(productsOf(['A', 'NOPE']))
    exchange.runUntil(7 * HOUR_MS, second)
    expect(exchange.requests.slice(2)).toEqual([['A'], ['NOPE']])
  })

  test('is not sent for a product that is quoted already', () => {
    const exchange = new Answering(['A'], naming)
    const subscriptions = new Subscriptions(exchange.protocol, new Map())
    subscriptions.add(productsOf(['A']))
    subscriptions.accept(['A'], 0)
    exchange.runUntil(HOUR_MS / 60, subscriptions)
    expect(exchange.requests).toEqual([])
  })

  test('answers about unrequested products are ignored', () => {
    const refusals: Refusals = new Map()
    const subscriptions = new Subscriptions(bybit, refusals)
    subscriptions.refuse('OTHER', 0)
    subscriptions.accept(['OTHER'], 0)
    expect([refusals.size, subscriptions.acceptedMs('OTHER')]).toEqual([0, undefined])
  })
})
