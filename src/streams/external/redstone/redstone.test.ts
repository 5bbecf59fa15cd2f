import { expect, test } from 'vitest'
import { ScriptedWeb, START_MS } from '../testing/scripted-web.ts'
import { redstone } from './redstone.ts'

const MIRRORS = ['http://a', 'http://b', 'http://c']
const MINUTE_MS = 60_000

function packages(nowMs: number): string {
  const timestampMilliseconds = Math.floor(nowMs / 10_000) * 10_000
  const signed = (feed: string, value: number) => ({
    timestampMilliseconds,
    signature: `${feed} ${value}`,
    dataPoints: [{ dataFeedId: feed, value }],
    dataPackageId: feed,
  })
  const feeds = ['BTC', 'USDC', 'USDT', 'DOGE'].map((feed) => [
    feed,
    [signed(feed, 100), signed(feed, 100.02), signed(feed, 99.98)],
  ])
  return JSON.stringify(Object.fromEntries(feeds))
}

test('the mirrors together are asked every ten seconds at most, dead or alive', () => {
  const web = new ScriptedWeb()
  web.chance = 0
  web.answer = (url) =>
    url.startsWith('http://b') && web.nowMs % (2 * MINUTE_MS) < MINUTE_MS
      ? { status: 200, body: packages(web.nowMs) }
      : 'fail'
  web.play(redstone, MIRRORS)
  web.advance(10 * MINUTE_MS)
  expect(web.asked.length).toBeGreaterThan(40)
  for (const [index, { atMs }] of web.asked.slice(1).entries())
    expect(atMs - (web.asked[index]?.atMs ?? 0)).toBeGreaterThanOrEqual(10_000)
  expect(new Set(web.statuses.map(({ state }) => state))).toEqual(new Set(['down', 'up']))
})

test('a mirror that repeats old packages is left for one that does not', () => {
  const web = new ScriptedWeb()
  web.answer = (url) => ({
    status: 200,
    body: packages(url.startsWith('http://a') ? START_MS - 60 * MINUTE_MS : web.nowMs),
  })
  web.play(redstone, MIRRORS)
  web.advance(MINUTE_MS)
  expect(web.asked.slice(0, 4).map(({ url }) => url.slice(0, 8))).toEqual([
    ...['http://a', 'http://b', 'http://b', 'http://b'],
  ])
  expect(web.statuses.map(({ state, reason }) => [state, reason])).toEqual([
    ['down', 'no reply received yet'],
    ['degraded', 'no new values'],
    ['up', ''],
  ])
})

test('the assets of the venue and both stablecoins are emitted', () => {
  const web = new ScriptedWeb()
  web.assets = ['BTC', 'ETH']
  web.answer = () => ({ status: 200, body: packages(web.nowMs) })
  web.play(redstone, MIRRORS)
  web.advance(1_000)
  expect(web.asked.map(({ url }) => url)).toEqual([
    'http://a/v2/data-packages/latest/redstone-primary-prod',
  ])
  expect(web.of('oracle-price').map(({ asset, resolutionBps }) => [asset, resolutionBps])).toEqual([
    ['BTC', 5],
    ['USDC', 1],
    ['USDT', 1],
  ])
})
