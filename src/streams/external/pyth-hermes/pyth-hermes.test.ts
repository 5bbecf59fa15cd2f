import { describe, expect, test } from 'vitest'
import type { HttpReply } from '../../runtime.ts'
import type { ScriptedBody } from '../testing/scripted-web.ts'
import { ScriptedWeb } from '../testing/scripted-web.ts'
import { coreFeedIds } from './feed-ids.ts'
import { pythHermes } from './pyth-hermes.ts'

const HOUR_MS = 3_600_000
const KEY = 'secret'
const A = 'http://a'
const B = 'http://b/hermes'

const ok = (body: string): HttpReply => ({ status: 200, body })

/** A core id, or one that is derived from the name. */
function idOf(asset: string): string {
  return coreFeedIds.get(asset) ?? Buffer.from(asset.padEnd(32, '.')).toString('hex')
}

function catalogue(assets: readonly string[]): HttpReply {
  const rows = assets.map((asset) => ({
    id: idOf(asset),
    attributes: { symbol: `Crypto.${asset}/USD`, description: `${asset} / US DOLLAR` },
  }))
  return ok(JSON.stringify(rows))
}

function idsIn(url: string): readonly string[] {
  return new URL(url).searchParams.getAll('ids[]')
}

/** A server that lists some assets and streams prices of all requested feeds. */
class Server extends ScriptedWeb {
  listed: readonly string[] = ['BTC', 'ETH', 'SOL', 'USDC', 'USDT']

  constructor(assets: readonly string[] = []) {
    super()
    this.assets = assets
    this.listed = [...this.listed, ...assets]
    this.answer = (url) => this.usual(url)
  }

  usual(url: string): HttpReply {
    return url.includes('/v2/price_feeds') ? catalogue(this.listed) : ok('{}')
  }

  listen(urls: readonly string[] = [A], key: string | null = KEY): () => void {
    return this.play(pythHermes, urls, key ?? undefined)
  }

  /** Sends prices of all feeds on every open stream once a second. */
  send(seconds = 1, price = 100): void {
    for (let second = 0; second < seconds; second += 1) {
      for (const body of this.open) this.sendOn(body, price)
      this.advance(1_000)
    }
  }

  sendOn(body: ScriptedBody, price: number, publishS = Math.floor(this.nowMs / 1_000)): void {
    const values = { price: `${price}00`, conf: '10', expo: -2, publish_time: publishS }
    const parsed = idsIn(body.url).map((id) => ({ id, price: values, ema_price: values }))
    body.send(`data:${JSON.stringify({ binary: {}, parsed })}\n\n`)
  }

  get states(): readonly (readonly [state: string, reason: string])[] {
    return this.statuses.map(({ state, reason }) => [state, reason])
  }

  get priced(): ReadonlySet<string> {
    return new Set(this.of('oracle-price').map(({ asset }) => asset))
  }
}

describe('the stream of prices', () => {
  test('emits core feeds and the assets of the venue, requested with the key', () => {
    const server = new Server(['DOGE', 'UNLISTED'])
    server.listed = server.listed.filter((asset) => asset !== 'UNLISTED')
    server.listen()
    server.send(10)
    expect(server.priced).toEqual(new Set(['BTC', 'ETH', 'SOL', 'USDC', 'USDT', 'DOGE']))
    expect(server.of('oracle-price')[0]).toEqual({
      kind: 'oracle-price',
      network: 'pyth-hermes',
      place: '',
      asset: 'BTC',
      priceUsd: 100,
      confidenceUsd: 0.1,
      ema: { priceUsd: 100, confidenceUsd: 0.1 },
      resolutionBps: 0,
      heartbeatMs: 5_000,
      timeExchangeMs: expect.any(Number),
      timeReceivedMs: expect.any(Number),
    })
    const streams = server.asked.filter(({ isStream }) => isStream)
    for (const { headers } of streams) expect(headers).toEqual({ authorization: `Bearer ${KEY}` })
    expect(server.states).toEqual([
      ['down', 'connecting'],
      ['up', ''],
    ])
  })

  test('requests at most 50 feeds per stream, and core feeds on their own', () => {
    const coins = Array.from({ length: 120 }, (_, index) => `C${index}`)
    const server = new Server(coins)
    server.listen()
    server.send(30)
    const sizes = server.open.map(({ url }) => idsIn(url).length)
    expect(sizes).toEqual([5, 50, 50, 20])
    expect(server.priced.size).toBe(125)
    for (const { url } of server.open) {
      expect(url.length).toBeLessThan(8_000)
      expect(url).toContain('ignore_invalid_price_ids=true')
    }
  })

  test('emits a feed at most every 400 ms, and its newest price', () => {
    const server = new Server()
    server.listen()
    server.advance(1_000)
    const [body] = server.open
    for (let step = 0; step < 100; step += 1) {
      if (body !== undefined) server.sendOn(body, 100 + step)
      server.advance(30)
    }
    server.advance(1_000)
    const prices = server.of('oracle-price').filter(({ asset }) => asset === 'BTC')
    expect(prices.length).toBe(9)
    expect(prices[0]?.priceUsd).toBe(100)
    expect(prices.at(-1)?.priceUsd).toBe(199)
  })

  test('drops prices with an older publication time', () => {
    const server = new Server()
    server.listen()
    server.advance(1_000)
    const [body] = server.open
    const nowS = Math.floor(server.nowMs / 1_000)
    for (const [price, publishS] of [
      [100, nowS],
      [99, nowS - 5],
      [101, nowS],
    ] as const) {
      if (body !== undefined) server.sendOn(body, price, publishS)
      server.advance(1_000)
    }
    const prices = server.of('oracle-price').filter(({ asset }) => asset === 'BTC')
    expect(prices.map(({ priceUsd }) => priceUsd)).toEqual([100, 101])
  })

  test('reports unknown feeds, error events and undecodable data, and continues', () => {
    const server = new Server()
    server.listen()
    server.send(2)
    const known = server.of('oracle-price').length
    const [body] = server.open
    const price = {
      price: '100',
      conf: '1',
      expo: 0,
      publish_time: Math.floor(server.nowMs / 1_000),
    }
    body?.send(`data:${JSON.stringify({ parsed: [{ id: 'f'.repeat(64), price }] })}\n\n`)
    body?.send('event: error\ndata: lagging\n\n')
    body?.send('data: <html>\n\n')
    server.advance(1_000)
    expect(server.of('oracle-price')).toHaveLength(known)
    const kinds = server.notices.map(({ kind }) => kind)
    expect(kinds).toEqual(['unknown_feed', 'stream_event', 'undecodable'])
    server.send()
    expect(server.of('oracle-price').length).toBeGreaterThan(known)
  })
})

describe('the assets of the venue', () => {
  test('a change reopens only the streams that it concerns', () => {
    const coins = Array.from({ length: 60 }, (_, index) => `C${index}`)
    const server = new Server(coins)
    server.listed = [...server.listed, 'NEW']
    server.listen()
    server.send(20)
    const before = server.open.map(({ url }) => idsIn(url))
    expect(before.map(({ length }) => length)).toEqual([5, 50, 10])
    server.assets = [...coins, 'NEW']
    server.send(10)
    const after = server.open.map(({ url }) => idsIn(url))
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after[2]).toEqual([...(before[2] ?? []), idOf('NEW')])
    server.assets = coins.slice(1)
    server.send(10)
    expect(server.open.map(({ url }) => idsIn(url).length)).toEqual([5, 49, 10])
    expect(server.states.map(([state]) => state)).toEqual(['down', 'up'])
  })

  test('feeds come from the list of the server, requested once a day', () => {
    const server = new Server(['DOGE'])
    server.listed = server.listed.filter((asset) => asset !== 'DOGE')
    server.listen()
    server.send(60)
    expect(server.priced).not.toContain('DOGE')
    server.listed = [...server.listed, 'DOGE']
    server.advance(26 * HOUR_MS)
    server.send(90)
    expect(server.priced).toContain('DOGE')
    expect(server.asked.filter(({ url }) => url.includes('price_feeds'))).toHaveLength(2)
  })

  test('core feeds are streamed while the list is not available', () => {
    const server = new Server(['DOGE'])
    server.answer = (url) =>
      url.includes('price_feeds') ? { status: 500, body: '' } : server.usual(url)
    server.listen()
    server.send(60)
    expect(server.priced).toEqual(new Set(coreFeedIds.keys()))
    expect(server.states.at(-1)).toEqual(['degraded', 'the list of feeds is not available'])
    server.answer = (url) => server.usual(url)
    server.send(90)
    expect(server.priced).toContain('DOGE')
    expect(server.states.at(-1)).toEqual(['up', ''])
  })
})

describe('a stream that ends', () => {
  test('after a day is renewed without a status', () => {
    const server = new Server()
    server.listen()
    server.send(70)
    server.open[0]?.end()
    server.send(10)
    expect(server.bodies).toHaveLength(2)
    expect(server.states.map(([state]) => state)).toEqual(['down', 'up'])
    expect(server.of('oracle-price').at(-1)?.timeReceivedMs).toBeGreaterThan(server.nowMs - 2_000)
  })

  test('is opened at the second address if the first fails', () => {
    const server = new Server()
    server.listen([A, B])
    server.send(70)
    server.answer = (url) => (url.startsWith(A) ? 'fail' : server.usual(url))
    server.open[0]?.fail()
    server.send(10)
    expect(server.open.map(({ url }) => url.startsWith(`${B}/v2/updates/price/stream?`))).toEqual([
      true,
    ])
    expect(server.states.map(([state]) => state)).toEqual(['down', 'up', 'down', 'up'])
  })

  test('is renewed after 15 seconds without prices and is down until then', () => {
    const server = new Server()
    server.listen()
    server.send(5)
    const [first] = server.open
    server.advance(12_000)
    expect(first?.isAborted).toBe(false)
    first?.send(': keep-alive\n\n')
    server.advance(10_000)
    expect(first?.isAborted, 'comments do not count as prices').toBe(true)
    expect(server.states.at(-1)).toEqual(['down', 'feed_silent'])
    server.send(5)
    expect(server.states.at(-1)).toEqual(['up', ''])
  })

  test('is opened at the second address if the first repeats old prices', () => {
    const server = new Server()
    server.listen([A, B])
    server.send(70)
    const stuckS = Math.floor(server.nowMs / 1_000)
    for (let second = 0; second < 90; second += 1) {
      for (const body of server.open)
        server.sendOn(body, 100, body.url.startsWith(A) ? stuckS : undefined)
      server.advance(1_000)
    }
    expect(server.open.map(({ url }) => url.startsWith(B))).toEqual([true])
    expect(server.states.map(([state]) => state)).toEqual(['down', 'up', 'down', 'up'])
  })

  test('degrades the source; it is down only when all streams are', () => {
    const server = new Server(['DOGE'])
    server.listen()
    server.send(10)
    const [core, other] = server.open
    server.answer = (url) => (url.includes(idOf('DOGE')) ? 'fail' : server.usual(url))
    other?.fail()
    server.send(5)
    expect(server.states.at(-1)).toEqual(['degraded', '1 of 2 streams down'])
    expect(core?.isAborted).toBe(false)
  })

  test('is reopened with growing pauses', () => {
    const server = new Server()
    server.answer = (url) => (url.includes('stream') ? 'fail' : server.usual(url))
    server.chance = 1
    server.listen()
    server.advance(HOUR_MS / 2)
    const opened = server.asked.filter(({ isStream }) => isStream).map(({ atMs }) => atMs)
    const pauses = opened.slice(1).map((atMs, index) => atMs - (opened[index] ?? 0))
    expect(pauses.slice(0, 7)).toEqual([1_050, 2_050, 4_050, 8_050, 16_050, 32_050, 60_050])
  })

  test('is not reopened after the end of the subscription', () => {
    const server = new Server(['DOGE'])
    const stop = server.listen()
    server.send(10)
    stop()
    const asked = server.asked.length
    const known = server.events.length
    server.send(100)
    expect(server.open).toEqual([])
    expect([server.asked.length, server.events.length]).toEqual([asked, known])
  })
})

describe('a server that refuses', () => {
  test('without a key the source is off, names the option, and retries after hours', () => {
    const server = new Server(['DOGE'])
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 401, body: 'Unauthorized' }
    server.listen([A, B], null)
    server.advance(3 * HOUR_MS)
    expect(server.states).toContainEqual(['off', 'needs a key: --pyth-key'])
    expect(server.states.at(-1)).toEqual(['off', 'needs a key: --pyth-key'])
    const asked = server.asked.length
    expect(asked).toBeLessThan(12)
    expect(server.asked.every(({ headers }) => headers['authorization'] === undefined)).toBe(true)
    server.answer = (url) => server.usual(url)
    for (let minute = 0; minute < 90; minute += 1) {
      server.advance(60_000)
      server.send()
    }
    expect(server.states.at(-1)).toEqual(['up', ''])
  })

  test('a refused key is named as the reason', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 403, body: 'Forbidden' }
    server.listen()
    server.advance(HOUR_MS)
    expect(server.states.at(-1)).toEqual(['off', 'HTTP 403: the key is refused'])
  })

  test('status 451 is reported as blocked', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 451, body: '' }
    server.listen()
    server.advance(HOUR_MS)
    expect(server.states.at(-1)).toEqual(['blocked', 'HTTP 451 from every address'])
  })

  test.each([
    [
      'beyond the plan',
      403,
      (id: string) => `Not entitled: feed ${id} (no grant accepts this feed)`,
    ],
    ['unknown', 404, (id: string) => `Price ids not found: 0x${id}`],
  ])('feeds %s are excluded; the others are streamed', (_, status, words) => {
    const coins = ['GOOD', 'BAD', 'FINE', 'WORSE']
    const server = new Server(coins)
    server.answer = (url) => {
      const bad = ['BAD', 'WORSE'].map(idOf).find((id) => idsIn(url).includes(id))
      return bad === undefined ? server.usual(url) : { status, body: words(bad) }
    }
    server.listen()
    server.send(60)
    expect(server.priced).toEqual(new Set([...coreFeedIds.keys(), 'GOOD', 'FINE']))
    expect(server.notices.filter(({ kind }) => kind === 'feed_refused')).toHaveLength(2)
    expect(server.states.at(-1)).toEqual(['up', ''])
    const asked = server.asked.length
    server.send(600)
    expect(server.asked, 'they are not requested again').toHaveLength(asked)
  })

  test('every feed: the source is down, and the feeds are tried again after hours', () => {
    const server = new Server()
    server.answer = (url) => {
      const [id] = idsIn(url)
      return id === undefined
        ? server.usual(url)
        : { status: 404, body: `Price ids not found: 0x${id}` }
    }
    server.listen()
    server.advance(10 * 60_000)
    expect(server.states.at(-1)).toEqual(['down', 'every feed is refused'])
    server.answer = (url) => server.usual(url)
    server.advance(5 * HOUR_MS)
    server.send(90)
    expect(server.states.at(-1)).toEqual(['up', ''])
    expect(server.priced).toContain('BTC')
  })

  test('after status 429 nothing is requested for a minute', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('stream') ? { status: 429, body: '' } : server.usual(url)
    server.listen()
    server.advance(59_000)
    expect(server.asked.filter(({ isStream }) => isStream)).toHaveLength(1)
    server.answer = (url) => server.usual(url)
    server.advance(10_000)
    server.send(10)
    expect(server.states.at(-1)).toEqual(['up', ''])
  })

  test('gets at most 10 requests in 10 seconds', () => {
    const coins = Array.from({ length: 400 }, (_, index) => `C${index}`)
    const server = new Server(coins)
    server.chance = 0
    server.answer = (url) => (url.includes('price_feeds') ? server.usual(url) : 'fail')
    server.listen()
    server.advance(10 * 60_000)
    const times = server.asked.map(({ atMs }) => atMs)
    expect(times.length).toBeGreaterThan(250)
    for (const atMs of times) {
      const close = times.filter((other) => other > atMs - 10_000 && other <= atMs)
      expect(close.length).toBeLessThanOrEqual(10)
    }
  })
})
