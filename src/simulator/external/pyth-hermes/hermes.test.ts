import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../../test/support/manual-clock.ts'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import type { ScenarioEvent } from '../scenario.ts'
import type { Upstream, UpstreamReply } from '../upstream.ts'
import { hermes } from './hermes.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7, 33, 200)
const SOL = 'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'
const BTC = 'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'
const KEY = { authorization: 'Bearer k' }

type Price = { price: string; conf: string; expo: number; publish_time: number }
type Update = { parsed: { id: string; price: Price; ema_price: Price }[] }

describe('the simulated Hermes', () => {
  let clock: ManualClock
  let reference: ReferencePrices
  let upstream: Upstream

  const begin = (scenario: readonly ScenarioEvent[] = []) => {
    clock = new ManualClock(START_MS)
    reference = new ReferencePrices({
      market: seededMarket({ seed: 5, startMs: START_MS }),
      seed: 5,
      scenario,
    })
    upstream = hermes(reference, clock)
  }
  beforeEach(() => begin())

  const get = (target: string, headers: Record<string, string> = KEY): UpstreamReply => {
    const { pathname, searchParams } = new URL(target, 'http://hermes')
    const request = { method: 'GET', path: pathname, query: searchParams, headers, body: '' }
    return upstream.request?.(request) ?? null
  }
  const answered = (reply: UpstreamReply) => {
    if (reply === null || !('body' in reply)) throw new Error('an answer that ends')
    return reply
  }
  const prices = (target: string): Update => JSON.parse(answered(get(target)).body)
  const usd = ({ price, expo }: Price) => Number(`${price}e${expo}`)

  test('prices are integers and match the observed price within 0.01 bps', () => {
    const feeds = JSON.parse(answered(get('/v2/price_feeds?asset_type=crypto')).body)
    for (const asset of reference.assets) {
      const feed = feeds.find(
        ({ attributes }: { attributes: Record<string, string> }) =>
          attributes['symbol'] === `Crypto.${asset}/USD` &&
          !attributes['description']?.includes('DEPR'),
      )
      clock.advance(1_000)
      const { parsed } = prices(`/v2/updates/price/latest?ids[]=${feed.id}`)
      const publishedMs = Math.floor(clock.nowMs() / 1_000) * 1_000
      const seen = reference.seenUsd('pyth-hermes', asset, publishedMs) ?? Number.NaN
      const [told] = parsed
      if (told === undefined) throw new Error(`${asset} is priced`)
      expect(Math.abs(usd(told.price) / seen - 1)).toBeLessThan(1e-6)
      expect(usd(told.ema_price) / seen).toBeCloseTo(1, 1)
      const confidenceBps = (Number(told.price.conf) / Number(told.price.price)) * 1e4
      expect(confidenceBps).toBeCloseTo(
        reference.confidenceBps('pyth-hermes', asset, clock.nowMs()),
        1,
      )
      expect(told.price.publish_time).toBe(Math.floor(clock.nowMs() / 1_000))
    }
  })

  test('lists namesakes and retired feeds that cost something else', () => {
    const rows: { id: string; attributes: { symbol: string; description: string } }[] = JSON.parse(
      answered(get('/v2/price_feeds?query=sol&asset_type=crypto', {})).body,
    )
    expect(rows.length).toBeGreaterThan(3)
    expect(rows[0]?.attributes.symbol).not.toBe('Crypto.SOL/USD')
    const exact = rows.filter(({ attributes }) => attributes.symbol === 'Crypto.SOL/USD')
    expect(exact.map(({ id }) => id === SOL)).toEqual([false, true])
    expect(exact[0]?.attributes.description).toContain('DEPRECATED')
    const told = prices(`/v2/updates/price/latest?ids[]=${exact[0]?.id}&ids[]=${SOL}`).parsed
    const [retired, real] = told.map(({ price }) => usd(price))
    expect((retired ?? 1) / (real ?? 1)).toBeCloseTo(0.93, 4)
  })

  test.each([
    ['no key', `/v2/updates/price/latest?ids[]=${BTC}`, {}, 401, 'Unauthorized'],
    [
      'an empty key',
      `/v2/updates/price/stream?ids[]=${BTC}`,
      { authorization: 'Bearer ' },
      401,
      'Unauthorized',
    ],
    [
      'an unknown id',
      `/v2/updates/price/latest?ids[]=0x${'0'.repeat(64)}`,
      KEY,
      404,
      'Price ids not found: 0x0000',
    ],
    ['no id', '/v2/updates/price/latest', KEY, 400, 'Failed to deserialize'],
    ['a malformed id', '/v2/updates/price/latest?ids[]=btc', KEY, 400, 'Failed to deserialize'],
    ['the future', `/v2/updates/price/1999999999?ids[]=${BTC}`, KEY, 404, 'Update data not found'],
    ['another path', '/v1/prices', KEY, 404, 'Not Found'],
  ])('refuses %s', (_, target, headers, status, words) => {
    expect(get(target, headers as Record<string, string>)).toMatchObject({
      status,
      body: expect.stringContaining(words),
    })
  })

  test('ignores unknown ids on request', () => {
    const both = `ids[]=${'0'.repeat(64)}&ids[]=${BTC}&ignore_invalid_price_ids=true`
    const { parsed } = prices(`/v2/updates/price/latest?${both}`)
    expect(parsed.map(({ id }) => id)).toEqual([BTC])
  })

  test('knows what it said before', () => {
    const now = prices(`/v2/updates/price/latest?ids[]=${BTC}`)
    const second = Math.floor(START_MS / 1_000)
    clock.advance(60_000)
    const then = prices(`/v2/updates/price/${second}?ids[]=${BTC}`)
    expect(then.parsed[0]?.price).toEqual(now.parsed[0]?.price)
  })

  test('refuses a client above the rate limit for a minute', () => {
    const ask = () => answered(get('/v2/price_feeds', {})).status
    expect(Array.from({ length: 11 }, ask)).toEqual([...Array(10).fill(200), 429])
    clock.advance(59_000)
    expect(ask()).toBe(429)
    clock.advance(2_000)
    expect(ask()).toBe(200)
  })

  test('streams events of one line, two and a half a second', () => {
    const reply = get(`/v2/updates/price/stream?ids[]=${BTC}`)
    if (reply === null || !('start' in reply)) throw new Error('a stream')
    expect(reply.contentType).toBe('text/event-stream')
    const written: string[] = []
    let isEnded = false
    const write = (text: string) => written.push(text)
    const end = () => {
      isEnded = true
    }
    const stop = reply.start(write, end)
    clock.advance(10_000)
    expect(written).toHaveLength(26)
    for (const text of written) expect(text).toMatch(/^data:\{.*\}\n\n$/)
    const last: Update = JSON.parse(written.at(-1)?.slice(5) ?? '')
    expect(last.parsed[0]?.price.publish_time).toBe(Math.floor(clock.nowMs() / 1_000))
    stop()
    clock.advance(10_000)
    expect(written).toHaveLength(26)
    expect(isEnded).toBe(false)
  })

  test('ends every stream after a day', () => {
    const ends: number[] = []
    const patient = {
      nowMs: () => clock.nowMs(),
      every: () => () => {},
      after: clock.after.bind(clock),
    }
    upstream = hermes(reference, patient)
    const reply = get(`/v2/updates/price/stream?ids[]=${BTC}`)
    if (reply === null || !('start' in reply)) throw new Error('a stream')
    reply.start(
      () => {},
      () => ends.push(clock.nowMs()),
    )
    clock.advance(48 * 3_600_000)
    expect(ends).toEqual([START_MS + 24 * 3_600_000])
  })

  test('holds nothing but majors for a trial key, and names what it refuses', () => {
    const trial = { authorization: 'Bearer trial' }
    const rows = JSON.parse(answered(get('/v2/price_feeds?query=doge')).body)
    const doge = rows[0]?.id
    expect(get(`/v2/updates/price/stream?ids[]=${BTC}&ids[]=${doge}`, trial)).toMatchObject({
      status: 403,
      body: expect.stringContaining(`Not entitled: feed ${doge}`),
    })
    expect(get(`/v2/updates/price/latest?ids[]=${BTC}`, trial)).toMatchObject({ status: 200 })
  })

  test('publishes nothing new while it is stalled', () => {
    const untilMs = START_MS + 60_000
    begin([{ kind: 'stalled', source: 'pyth-hermes', fromMs: START_MS + 1_000, untilMs }])
    clock.advance(30_000)
    const { parsed } = prices(`/v2/updates/price/latest?ids[]=${BTC}`)
    expect(parsed[0]?.price.publish_time).toBe(Math.floor((START_MS + 1_000) / 1_000))
  })
})
