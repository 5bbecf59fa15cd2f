import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slotTimeMs } from '../../../simulator/external/solana/solana-node.ts'
import { solanaUpstream } from '../../../simulator/external/solana/solana-upstream.ts'
import { World } from '../../../simulator/external/world.ts'
import { seededMarket } from '../../../simulator/market/seeded-market.ts'
import { mutated } from '../testing/mutated.ts'
import { candidateKeys, deepestOf, readCandidates } from './discovery.ts'
import type { PushedFeed } from './pushed-feeds.ts'
import { pushedFeeds } from './pushed-feeds.ts'
import type { PoolSeat } from './snapshot.ts'
import { readChain, readOracles, readPools, readSnapshot, snapshotKeys } from './snapshot.ts'
import { mutatedBytes } from './testing/mutated-bytes.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const world = new World({ market: seededMarket({ seed: 3, startMs: NOW_MS }), seed: 3 })
const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }
const node = solanaUpstream(world, clock)

type Told = { readonly data: [string, string]; readonly owner: string }
type Reply = { result: { context: { slot: number }; value: (Told | null)[] } }

/** What the simulated node says now. */
function replyTo(keys: readonly string[]): Reply {
  const params = [keys, { encoding: 'base64', commitment: 'confirmed' }]
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMultipleAccounts', params })
  const asked = { method: 'POST', path: '/', query: new URLSearchParams(), headers: {}, body }
  const reply = node.request?.(asked)
  if (!reply || !('body' in reply)) throw new Error('no answer')
  return JSON.parse(reply.body) as Reply
}

function accountsOf(keys: readonly string[]) {
  const { value } = replyTo(keys).result
  return value.map(
    (told) => told && { owner: told.owner, data: Buffer.from(told.data[0], 'base64') },
  )
}

const candidates = readCandidates(accountsOf(candidateKeys))
const vaults = accountsOf(candidates.map(({ quoteVault }) => quoteVault))
const seats = deepestOf(candidates, vaults)
const keys = snapshotKeys(seats)
const reply = replyTo(keys)

/** The reply with one account changed. */
function changed(key: string, change: (data: Buffer) => void): unknown {
  const { result } = structuredClone(reply)
  const told = result.value[keys.indexOf(key)]
  const data = Buffer.from(told?.data[0] ?? '', 'base64')
  change(data)
  if (told) told.data[0] = data.toString('base64')
  return result
}

function heardOf(result: unknown) {
  const snapshot = readSnapshot(result, keys)
  if (snapshot === null) return null
  const [pools, oracles] = [readPools(snapshot, seats, NOW_MS), readOracles(snapshot, NOW_MS)]
  return { chain: readChain(snapshot, NOW_MS), pools, oracles }
}

function pricesOf(heard: ReturnType<typeof heardOf>): Map<string, number> {
  return new Map(heard?.oracles.events.map(({ asset, priceUsd }) => [asset, priceUsd]))
}

describe('snapshot', () => {
  test('is of one block, whose time every pool has', () => {
    const heard = heardOf(reply.result)
    const { slot } = reply.result.context
    const timeMs = Math.floor(slotTimeMs(slot) / 1_000) * 1_000
    expect(heard?.chain).toMatchObject({ blockNumber: slot, timeExchangeMs: timeMs })
    expect(heard?.pools.events).toHaveLength(4)
    for (const { blockNumber, timeExchangeMs } of heard?.pools.events ?? [])
      expect([blockNumber, timeExchangeMs]).toEqual([slot, timeMs])
    expect([...(heard?.pools.notices ?? []), ...(heard?.oracles.notices ?? [])]).toEqual([])
  })

  test('takes the fresher of the two accounts of a feed, whichever that is', () => {
    for (const asset of ['BTC', 'ETH', 'BONK']) {
      const { id, accounts } = feedOf(asset)
      const [upgraded, old] = accounts
      const usual = pricesOf(heardOf(reply.result)).get(asset) ?? Number.NaN
      const fresh = changed(old, (data) => {
        const at = data.indexOf(Buffer.from(id, 'hex')) + 32
        data.writeBigInt64LE(data.readBigInt64LE(at) * 2n, at)
        data.writeBigInt64LE(BigInt(NOW_MS / 1_000 + 1), at + 20)
      })
      const doubled = pricesOf(heardOf(fresh)).get(asset) ?? Number.NaN
      expect(doubled / usual, asset).toBeGreaterThan(1.5)
      const gone = changed(upgraded, (data) => data.fill(0))
      expect(pricesOf(heardOf(gone)).get(asset) ?? Number.NaN, asset).not.toBe(usual)
    }
  })

  test.each([
    ['nothing', 0, 0n],
    ['less than nothing', 0, -5n],
    ['less than the network is sure of', 8, 10n ** 17n],
    ['something in 11 seconds', 20, BigInt(NOW_MS / 1_000 + 11)],
    ['something before there were coins', 20, 0n],
  ])('a price of %s is refused, and the other account is taken', (_what, offset, value) => {
    const { accounts, id, asset } = feedOf('BTC')
    const result = changed(accounts[0], (data) => {
      data.writeBigInt64LE(value, data.indexOf(Buffer.from(id, 'hex')) + 32 + offset)
    })
    const oracles = heardOf(result)?.oracles
    expect(oracles?.notices).toEqual([
      { source: 'pyth-solana', kind: 'price_refused', detail: asset },
    ])
    const told = oracles?.events.find((event) => event.asset === asset)
    expect(told?.timeExchangeMs).toBeLessThan(NOW_MS - 60_000)
    expect(oracles?.events).toHaveLength(pushedFeeds.length)
  })

  test('an average that makes no sense is none, and the price stands', () => {
    const { accounts, id } = feedOf('BTC')
    const result = changed(accounts[0], (data) => {
      data.writeBigInt64LE(-1n, data.indexOf(Buffer.from(id, 'hex')) + 32 + 36)
    })
    expect(heardOf(result)?.oracles.events[0]).toMatchObject({ asset: 'BTC', ema: null })
  })

  test.each([
    ['without liquidity', (data: Buffer) => data.fill(0, 49, 65)],
    ['of another token', (data: Buffer) => data.fill(1, 101, 133)],
    ['with another vault', (data: Buffer) => data.fill(1, 213, 245)],
  ])('a pool %s is refused, and the others are told', (_what, change) => {
    const pool = seats[2]?.pool ?? ''
    const heard = heardOf(changed(pool, change))
    expect(heard?.pools.notices).toEqual([{ source: 'solana', kind: 'pool_refused', detail: pool }])
    expect(heard?.pools.events.map(({ asset }) => asset)).toEqual(['ETH', 'BTC', 'USDC'])
  })

  test('of which nobody knows the time is none', () => {
    expect(heardOf(changed(keys[0] ?? '', (data) => data.fill(255)))).toBeNull()
  })

  property.prop([mutated(JSON.stringify(reply.result))])(
    'whatever text a node sends, nothing absurd comes out',
    (text) => {
      let result: unknown
      try {
        result = JSON.parse(text)
      } catch {
        return
      }
      expectSane(heardOf(result))
    },
  )

  property.prop([fc.constantFrom(...keys), mutatedBytes(Buffer.alloc(653))])(
    'whatever bytes stand in an account, nothing absurd comes out',
    (key, noise) => {
      const put = (data: Buffer) => {
        for (const [at, byte] of noise.entries())
          if (byte !== 0 && at < data.length) data[at] = byte
      }
      expectSane(heardOf(changed(key, put)))
    },
  )
})

describe('discovery', () => {
  test('finds every pool that is one, and of each pair the one with most of the quote token', () => {
    expect(candidates).toHaveLength(9)
    const chosen = ({ pair, pool }: PoolSeat) => [pair.asset, pair.candidates.indexOf(pool)]
    expect(seats.map(chosen)).toEqual([
      ['ETH', 3],
      ['BTC', 3],
      ['SOL', 2],
      ['USDC', 0],
    ])
  })

  test('gives no pool the vault of another, in whatever order a node answers', () => {
    const turned = [...vaults.slice(1), ...vaults.slice(0, 1)]
    expect(deepestOf(candidates, turned)).toEqual([])
  })

  test('leaves out a pair of which no vault holds anything', () => {
    const empty = vaults.map((vault, at) => (candidates[at]?.pair.asset === 'SOL' ? null : vault))
    expect(deepestOf(candidates, empty).map(({ pair }) => pair.asset)).toEqual([
      'ETH',
      'BTC',
      'USDC',
    ])
  })

  test('finds nothing where nothing is', () => {
    expect(readCandidates(candidateKeys.map(() => null))).toEqual([])
  })
})

function feedOf(asset: string): PushedFeed {
  const feed = pushedFeeds.find((one) => one.asset === asset)
  if (feed === undefined) throw new Error(`no feed of ${asset}`)
  return feed
}

function expectSane(heard: ReturnType<typeof heardOf>): void {
  for (const { price, reserveQuote, balanceQuote, feeBps } of heard?.pools.events ?? []) {
    expect(price).toBeGreaterThan(0)
    expect(price).toBeLessThan(1e9)
    for (const value of [reserveQuote, balanceQuote, feeBps]) {
      expect(value).toBeGreaterThanOrEqual(0)
      expect(value).toBeLessThan(Number.POSITIVE_INFINITY)
    }
  }
  for (const event of heard?.oracles.events ?? []) {
    const { priceUsd, confidenceUsd, ema, timeExchangeMs } = event
    expect(priceUsd).toBeGreaterThan(0)
    expect(priceUsd).toBeLessThan(1e9)
    expect(confidenceUsd).toBeLessThan(priceUsd)
    expect(ema === null || ema.priceUsd > 0).toBe(true)
    expect(timeExchangeMs).toBeLessThanOrEqual(NOW_MS + 10_000)
  }
}
