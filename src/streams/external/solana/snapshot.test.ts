import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ReferencePrices } from '../../../simulator/external/reference-prices.ts'
import { solanaNode } from '../../../simulator/external/solana/solana-node.ts'
import { slotTimeMs } from '../../../simulator/external/solana/solana-rpc.ts'
import { seededMarket } from '../../../simulator/market/seeded-market.ts'
import type { SourceNotice } from '../source.ts'
import { mutated } from '../testing/mutated.ts'
import { candidateKeys, deepestOf, readCandidates } from './discovery.ts'
import type { PushedFeed } from './pushed-feeds.ts'
import { pushedFeeds } from './pushed-feeds.ts'
import { readChain, readOracles, readPools, readSnapshot, snapshotKeys } from './snapshot.ts'
import { mutatedBytes } from './testing/mutated-bytes.ts'
import type { OrcaPool } from './whirlpool-pairs.ts'

const NOW_MS = Date.UTC(2026, 9, 7, 15, 7)
const world = new ReferencePrices({ market: seededMarket({ seed: 3, startMs: NOW_MS }), seed: 3 })
const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }
const node = solanaNode(world, clock)

type AccountInfo = { readonly data: [string, string]; readonly owner: string }
type Reply = { result: { context: { slot: number }; value: (AccountInfo | null)[] } }

/** The reply of the simulated node. */
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
    (info) => info && { owner: info.owner, data: Buffer.from(info.data[0], 'base64') },
  )
}

const candidates = readCandidates(accountsOf(candidateKeys))
const vaults = accountsOf(candidates.map(({ quoteVault }) => quoteVault))
const pools = deepestOf(candidates, vaults)
const keys = snapshotKeys(pools)
const reply = replyTo(keys)

/** The reply with one account changed. */
function changed(key: string, change: (data: Buffer) => void): unknown {
  const { result } = structuredClone(reply)
  const info = result.value[keys.indexOf(key)]
  const data = Buffer.from(info?.data[0] ?? '', 'base64')
  change(data)
  if (info) info.data[0] = data.toString('base64')
  return result
}

function readingOf(result: unknown) {
  const snapshot = readSnapshot(result, keys)
  if (snapshot === null) return null
  const notices: SourceNotice[] = []
  const onNotice = (notice: SourceNotice) => notices.push(notice)
  return {
    chain: readChain(snapshot, NOW_MS),
    pools: readPools(snapshot, pools, NOW_MS, onNotice),
    oracles: readOracles(snapshot, NOW_MS, NOW_MS, onNotice),
    notices,
  }
}

function pricesOf(reading: ReturnType<typeof readingOf>): Map<string, number> {
  return new Map(reading?.oracles.map(({ asset, priceUsd }) => [asset, priceUsd]))
}

describe('snapshot', () => {
  test('all events have the slot and the time of one block', () => {
    const reading = readingOf(reply.result)
    const { slot } = reply.result.context
    const timeMs = Math.floor(slotTimeMs(slot) / 1_000) * 1_000
    expect(reading?.chain).toMatchObject({ blockNumber: slot, timeExchangeMs: timeMs })
    expect(reading?.pools).toHaveLength(4)
    for (const { blockNumber, timeExchangeMs } of reading?.pools ?? [])
      expect([blockNumber, timeExchangeMs]).toEqual([slot, timeMs])
    expect(reading?.notices).toEqual([])
  })

  test('uses the newer of the two accounts of a feed', () => {
    for (const asset of ['BTC', 'ETH', 'BONK']) {
      const { id, accounts } = feedOf(asset)
      const [upgraded, old] = accounts
      const usual = pricesOf(readingOf(reply.result)).get(asset) ?? Number.NaN
      const fresh = changed(old, (data) => {
        const at = data.indexOf(Buffer.from(id, 'hex')) + 32
        data.writeBigInt64LE(data.readBigInt64LE(at) * 2n, at)
        data.writeBigInt64LE(BigInt(NOW_MS / 1_000 + 1), at + 20)
      })
      const doubled = pricesOf(readingOf(fresh)).get(asset) ?? Number.NaN
      expect(doubled / usual, asset).toBeGreaterThan(1.5)
      const gone = changed(upgraded, (data) => data.fill(0))
      expect(pricesOf(readingOf(gone)).get(asset) ?? Number.NaN, asset).not.toBe(usual)
    }
  })

  test.each([
    ['zero', 0, 0n],
    ['less than zero', 0, -5n],
    ['less than its confidence', 8, 10n ** 17n],
    ['a time 11 seconds ahead', 20, BigInt(NOW_MS / 1_000 + 11)],
    ['a time before 2009', 20, 0n],
  ])('a price with %s is refused; the other account is used', (_what, offset, value) => {
    const { accounts, id, asset } = feedOf('BTC')
    const result = changed(accounts[0], (data) => {
      data.writeBigInt64LE(value, data.indexOf(Buffer.from(id, 'hex')) + 32 + offset)
    })
    const { notices, oracles } = readingOf(result) ?? {}
    const detail = `${asset}: account ${accounts[0]} holds no plausible price`
    expect(notices).toEqual([{ source: 'pyth-solana', kind: 'price_refused', detail }])
    const price = oracles?.find((event) => event.asset === asset)
    expect(price?.timeExchangeMs).toBeLessThan(NOW_MS - 60_000)
    expect(oracles).toHaveLength(pushedFeeds.length)
  })

  test('an implausible average is null; the price is kept', () => {
    const { accounts, id } = feedOf('BTC')
    const result = changed(accounts[0], (data) => {
      data.writeBigInt64LE(-1n, data.indexOf(Buffer.from(id, 'hex')) + 32 + 36)
    })
    expect(readingOf(result)?.oracles[0]).toMatchObject({ asset: 'BTC', ema: null })
  })

  test.each([
    ['without liquidity', (data: Buffer) => data.fill(0, 49, 65)],
    ['of another token', (data: Buffer) => data.fill(1, 101, 133)],
    ['with another vault', (data: Buffer) => data.fill(1, 213, 245)],
  ])('a pool %s is refused; the others are emitted', (_what, change) => {
    const pool = pools[2]?.address ?? ''
    const reading = readingOf(changed(pool, change))
    expect(reading?.notices).toMatchObject([
      { source: 'solana', kind: 'pool_refused', detail: expect.stringContaining(pool) },
    ])
    expect(reading?.pools.map(({ asset }) => asset)).toEqual(['ETH', 'BTC', 'USDC'])
  })

  test('without a block time there is no snapshot', () => {
    expect(readingOf(changed(keys[0] ?? '', (data) => data.fill(255)))).toBeNull()
  })

  property.prop([mutated(JSON.stringify(reply.result))])(
    'a mutated reply gives plausible values or none',
    (text) => {
      let result: unknown
      try {
        result = JSON.parse(text)
      } catch {
        return
      }
      expectPlausible(readingOf(result))
    },
  )

  property.prop([fc.constantFrom(...keys), mutatedBytes(Buffer.alloc(653))])(
    'mutated account data give plausible values or none',
    (key, noise) => {
      const put = (data: Buffer) => {
        for (const [at, byte] of noise.entries())
          if (byte !== 0 && at < data.length) data[at] = byte
      }
      expectPlausible(readingOf(changed(key, put)))
    },
  )
})

describe('discovery', () => {
  test('finds all pools, and of each pair the one with the largest quote balance', () => {
    expect(candidates).toHaveLength(9)
    const chosen = ({ pair, address }: OrcaPool) => [pair.asset, pair.candidates.indexOf(address)]
    expect(pools.map(chosen)).toEqual([
      ['ETH', 3],
      ['BTC', 3],
      ['SOL', 2],
      ['USDC', 0],
    ])
  })

  test('does not count a balance that cannot be traded at the current price', () => {
    const oneSided = candidates.map((one) =>
      pools.some(({ pair, address }) => pair.asset === 'SOL' && address === one.address)
        ? { ...one, reserveQuote: 1 }
        : one,
    )
    const solOf = (found: readonly OrcaPool[]) => found.find(({ pair }) => pair.asset === 'SOL')
    expect(solOf(deepestOf(oneSided, vaults))?.address).not.toBe(solOf(pools)?.address)
  })

  test('does not assign the vault of another pool', () => {
    const turned = [...vaults.slice(1), ...vaults.slice(0, 1)]
    expect(deepestOf(candidates, turned)).toEqual([])
  })

  test('leaves out a pair whose vaults are empty', () => {
    const empty = vaults.map((vault, at) => (candidates[at]?.pair.asset === 'SOL' ? null : vault))
    expect(deepestOf(candidates, empty).map(({ pair }) => pair.asset)).toEqual([
      'ETH',
      'BTC',
      'USDC',
    ])
  })

  test('finds nothing if no account exists', () => {
    expect(readCandidates(candidateKeys.map(() => null))).toEqual([])
  })
})

function feedOf(asset: string): PushedFeed {
  const feed = pushedFeeds.find((one) => one.asset === asset)
  if (feed === undefined) throw new Error(`no feed of ${asset}`)
  return feed
}

function expectPlausible(reading: ReturnType<typeof readingOf>): void {
  for (const { price, reserveQuote, balanceQuote, feeBps } of reading?.pools ?? []) {
    expect(price).toBeGreaterThan(0)
    expect(price).toBeLessThan(1e9)
    for (const value of [reserveQuote, balanceQuote, feeBps]) {
      expect(value).toBeGreaterThanOrEqual(0)
      expect(value).toBeLessThan(Number.POSITIVE_INFINITY)
    }
  }
  for (const event of reading?.oracles ?? []) {
    const { priceUsd, confidenceUsd, ema, timeExchangeMs } = event
    expect(priceUsd).toBeGreaterThan(0)
    expect(priceUsd).toBeLessThan(1e9)
    expect(confidenceUsd).toBeLessThan(priceUsd)
    expect(ema === null || ema.priceUsd > 0).toBe(true)
    expect(timeExchangeMs).toBeLessThanOrEqual(NOW_MS + 10_000)
  }
}
