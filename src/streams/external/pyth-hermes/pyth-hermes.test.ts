import { describe, expect, test } from 'vitest'
import type { HttpReply } from '../../runtime.ts'
import type { ScriptedBody } from '../testing/scripted-web.ts'
import { ScriptedWeb } from '../testing/scripted-web.ts'
import { shippedFeedIds } from './feed-ids.ts'
import { pythHermes } from './pyth-hermes.ts'

const HOUR_MS = 3_600_000
const KEY = 'secret'
const A = 'http://a'
const B = 'http://b/hermes'

const ok = (body: string): HttpReply => ({ status: 200, body })

/** Not one of the shipped ones. */
function idOf(asset: string): string {
  return shippedFeedIds.get(asset) ?? Buffer.from(asset.padEnd(32, '.')).toString('hex')
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

/** A server that knows some assets and tells prices of whatever it was asked for. */
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

  /** Every open stream tells all of its feeds, `seconds` times a second. */
  tell(seconds = 1, price = 100): void {
    for (let second = 0; second < seconds; second += 1) {
      for (const body of this.open) this.tellOn(body, price)
      this.advance(1_000)
    }
  }

  tellOn(body: ScriptedBody, price: number, publishS = Math.floor(this.nowMs / 1_000)): void {
    const told = { price: `${price}00`, conf: '10', expo: -2, publish_time: publishS }
    const parsed = idsIn(body.url).map((id) => ({ id, price: told, ema_price: told }))
    body.send(`data:${JSON.stringify({ binary: {}, parsed })}\n\n`)
  }

  get told(): readonly (readonly [state: string, reason: string])[] {
    return this.statuses.map(({ state, reason }) => [state, reason])
  }

  get priced(): ReadonlySet<string> {
    return new Set(this.of('oracle-price').map(({ asset }) => asset))
  }
}

describe('the stream of prices', () => {
  test('tells the shipped feeds and what the venue trades, with the key', () => {
    const server = new Server(['DOGE', 'UNLISTED'])
    server.listed = server.listed.filter((asset) => asset !== 'UNLISTED')
    server.listen()
    server.tell(10)
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
    expect(server.told).toEqual([
      ['down', 'connecting'],
      ['up', ''],
    ])
  })

  test('asks for at most 50 feeds at once, and for the majors alone', () => {
    const coins = Array.from({ length: 120 }, (_, index) => `C${index}`)
    const server = new Server(coins)
    server.listen()
    server.tell(30)
    const sizes = server.open.map(({ url }) => idsIn(url).length)
    expect(sizes).toEqual([5, 50, 50, 20])
    expect(server.priced.size).toBe(125)
    for (const { url } of server.open) {
      expect(url.length).toBeLessThan(8_000)
      expect(url).toContain('ignore_invalid_price_ids=true')
    }
  })

  test('tells a feed at most every 400 ms, and its last word', () => {
    const server = new Server()
    server.listen()
    server.advance(1_000)
    const [body] = server.open
    for (let step = 0; step < 100; step += 1) {
      if (body !== undefined) server.tellOn(body, 100 + step)
      server.advance(30)
    }
    server.advance(1_000)
    const prices = server.of('oracle-price').filter(({ asset }) => asset === 'BTC')
    expect(prices.length).toBe(9)
    expect(prices[0]?.priceUsd).toBe(100)
    expect(prices.at(-1)?.priceUsd).toBe(199)
  })

  test('does not go back to what was published before', () => {
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
      if (body !== undefined) server.tellOn(body, price, publishS)
      server.advance(1_000)
    }
    const prices = server.of('oracle-price').filter(({ asset }) => asset === 'BTC')
    expect(prices.map(({ priceUsd }) => priceUsd)).toEqual([100, 101])
  })

  test('reports feeds that nobody asked for, error events and nonsense, and goes on', () => {
    const server = new Server()
    server.listen()
    server.tell(2)
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
    server.tell()
    expect(server.of('oracle-price').length).toBeGreaterThan(known)
  })
})

describe('what the venue trades', () => {
  test('changes the streams that it concerns, and no other', () => {
    const coins = Array.from({ length: 60 }, (_, index) => `C${index}`)
    const server = new Server(coins)
    server.listed = [...server.listed, 'NEW']
    server.listen()
    server.tell(20)
    const before = server.open.map(({ url }) => idsIn(url))
    expect(before.map(({ length }) => length)).toEqual([5, 50, 10])
    server.assets = [...coins, 'NEW']
    server.tell(10)
    const after = server.open.map(({ url }) => idsIn(url))
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after[2]).toEqual([...(before[2] ?? []), idOf('NEW')])
    server.assets = coins.slice(1)
    server.tell(10)
    expect(server.open.map(({ url }) => idsIn(url).length)).toEqual([5, 49, 10])
    expect(server.told.map(([state]) => state)).toEqual(['down', 'up'])
  })

  test('is known by the list of feeds, asked once a day', () => {
    const server = new Server(['DOGE'])
    server.listed = server.listed.filter((asset) => asset !== 'DOGE')
    server.listen()
    server.tell(60)
    expect(server.priced).not.toContain('DOGE')
    server.listed = [...server.listed, 'DOGE']
    server.advance(26 * HOUR_MS)
    server.tell(90)
    expect(server.priced).toContain('DOGE')
    expect(server.asked.filter(({ url }) => url.includes('price_feeds'))).toHaveLength(2)
  })

  test('waits for a list that cannot be had, and the shipped feeds do not', () => {
    const server = new Server(['DOGE'])
    server.answer = (url) =>
      url.includes('price_feeds') ? { status: 500, body: '' } : server.usual(url)
    server.listen()
    server.tell(60)
    expect(server.priced).toEqual(new Set(shippedFeedIds.keys()))
    expect(server.told.at(-1)).toEqual(['degraded', 'no list of feeds'])
    server.answer = (url) => server.usual(url)
    server.tell(90)
    expect(server.priced).toContain('DOGE')
    expect(server.told.at(-1)).toEqual(['up', ''])
  })
})

describe('a stream that ends', () => {
  test('after a day is renewed without a word', () => {
    const server = new Server()
    server.listen()
    server.tell(70)
    server.open[0]?.end()
    server.tell(10)
    expect(server.bodies).toHaveLength(2)
    expect(server.told.map(([state]) => state)).toEqual(['down', 'up'])
    expect(server.of('oracle-price').at(-1)?.timeReceivedMs).toBeGreaterThan(server.nowMs - 2_000)
  })

  test('is opened at the second address when the first is gone', () => {
    const server = new Server()
    server.listen([A, B])
    server.tell(70)
    server.answer = (url) => (url.startsWith(A) ? 'fail' : server.usual(url))
    server.open[0]?.fail()
    server.tell(10)
    expect(server.open.map(({ url }) => url.startsWith(`${B}/v2/updates/price/stream?`))).toEqual([
      true,
    ])
    expect(server.told.map(([state]) => state)).toEqual(['down', 'up', 'down', 'up'])
  })

  test('is renewed when it falls silent for 15 seconds, and is down meanwhile', () => {
    const server = new Server()
    server.listen()
    server.tell(5)
    const [first] = server.open
    server.advance(12_000)
    expect(first?.isAborted).toBe(false)
    first?.send(': keep-alive\n\n')
    server.advance(10_000)
    expect(first?.isAborted, 'comments are no prices').toBe(true)
    expect(server.told.at(-1)).toEqual(['down', 'silent'])
    server.tell(5)
    expect(server.told.at(-1)).toEqual(['up', ''])
  })

  test('takes the others with it only when all end', () => {
    const server = new Server(['DOGE'])
    server.listen()
    server.tell(10)
    const [core, other] = server.open
    server.answer = (url) => (url.includes(idOf('DOGE')) ? 'fail' : server.usual(url))
    other?.fail()
    server.tell(5)
    expect(server.told.at(-1)).toEqual(['degraded', '1 of 2 streams'])
    expect(core?.isAborted).toBe(false)
  })

  test('is opened again more and more rarely', () => {
    const server = new Server()
    server.answer = (url) => (url.includes('stream') ? 'fail' : server.usual(url))
    server.chance = 1
    server.listen()
    server.advance(HOUR_MS / 2)
    const opened = server.asked.filter(({ isStream }) => isStream).map(({ atMs }) => atMs)
    const pauses = opened.slice(1).map((atMs, index) => atMs - (opened[index] ?? 0))
    expect(pauses.slice(0, 7)).toEqual([1_050, 2_050, 4_050, 8_050, 16_050, 32_050, 60_050])
  })

  test('is opened no more once nobody listens', () => {
    const server = new Server(['DOGE'])
    const stop = server.listen()
    server.tell(10)
    stop()
    const asked = server.asked.length
    const known = server.events.length
    server.tell(100)
    expect(server.open).toEqual([])
    expect([server.asked.length, server.events.length]).toEqual([asked, known])
  })
})

describe('a server that refuses', () => {
  test('whoever has no key: the source is off, says what it needs, and asks again after hours', () => {
    const server = new Server(['DOGE'])
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 401, body: 'Unauthorized' }
    server.listen([A, B], null)
    server.advance(3 * HOUR_MS)
    expect(server.told).toContainEqual(['off', 'needs a key: --pyth-key'])
    expect(server.told.at(-1)).toEqual(['off', 'needs a key: --pyth-key'])
    const asked = server.asked.length
    expect(asked).toBeLessThan(12)
    expect(server.asked.every(({ headers }) => headers['authorization'] === undefined)).toBe(true)
    server.answer = (url) => server.usual(url)
    for (let minute = 0; minute < 90; minute += 1) {
      server.advance(60_000)
      server.tell()
    }
    expect(server.told.at(-1)).toEqual(['up', ''])
  })

  test('the key: the reason says so', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 403, body: 'Forbidden' }
    server.listen()
    server.advance(HOUR_MS)
    expect(server.told.at(-1)).toEqual(['off', 'HTTP 403: the key is refused'])
  })

  test('our region: blocked', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('price_feeds') ? server.usual(url) : { status: 451, body: '' }
    server.listen()
    server.advance(HOUR_MS)
    expect(server.told.at(-1)).toEqual(['blocked', 'HTTP 451'])
  })

  test.each([
    [
      'beyond the plan',
      403,
      (id: string) => `Not entitled: feed ${id} (no grant accepts this feed)`,
    ],
    ['unknown', 404, (id: string) => `Price ids not found: 0x${id}`],
  ])('feeds %s costs only those', (_, status, words) => {
    const coins = ['GOOD', 'BAD', 'FINE', 'WORSE']
    const server = new Server(coins)
    server.answer = (url) => {
      const bad = ['BAD', 'WORSE'].map(idOf).find((id) => idsIn(url).includes(id))
      return bad === undefined ? server.usual(url) : { status, body: words(bad) }
    }
    server.listen()
    server.tell(60)
    expect(server.priced).toEqual(new Set([...shippedFeedIds.keys(), 'GOOD', 'FINE']))
    expect(server.notices.filter(({ kind }) => kind === 'feed_refused')).toHaveLength(2)
    expect(server.told.at(-1)).toEqual(['up', ''])
    const asked = server.asked.length
    server.tell(600)
    expect(server.asked, 'they are asked no more').toHaveLength(asked)
  })

  test('who asks too often: nothing is asked for a minute', () => {
    const server = new Server()
    server.answer = (url) =>
      url.includes('stream') ? { status: 429, body: '' } : server.usual(url)
    server.listen()
    server.advance(59_000)
    expect(server.asked.filter(({ isStream }) => isStream)).toHaveLength(1)
    server.answer = (url) => server.usual(url)
    server.advance(10_000)
    server.tell(10)
    expect(server.told.at(-1)).toEqual(['up', ''])
  })

  test('is asked at most 10 times in 10 seconds, whatever happens', () => {
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
