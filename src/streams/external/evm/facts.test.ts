import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { getAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { CHAINLINK_DECIMALS, chainlinkFeeds } from './chainlink-feeds.ts'
import { evmChains } from './evm-chains.ts'
import { PYTH_PUSH_HEARTBEAT_MS, pythContracts, pythFeeds } from './pyth-feeds.ts'

const data = resolve(import.meta.dirname, '../../../../../shared/data')
const isAbsent = !existsSync(data)
const read = (path: string) => readFileSync(resolve(data, path), 'utf8')

type Feed = {
  readonly alias: string
  readonly id: string
  readonly time_difference: number
  readonly price_deviation: number
}

describe('contract addresses', () => {
  test('have a valid checksum and are unique per chain', () => {
    for (const { chain, pairs, factories, initialPools } of evmChains) {
      const contracts = [
        ...factories.map(({ address }) => address),
        ...initialPools.map(({ address }) => address),
        ...chainlinkFeeds(chain).map(({ address }) => address),
      ]
      const tokens = pairs.flatMap(({ assetToken, quoteToken }) => [assetToken, quoteToken])
      for (const address of [...contracts, ...tokens.map(({ address: of }) => of)])
        expect(address).toBe(getAddress(address))
      expect(new Set(contracts).size, chain).toBe(contracts.length)
    }
  })

  test('every chain has an initial pool for ETH, BTC and USDC and a feed for each stablecoin', () => {
    for (const { chain, initialPools } of evmChains) {
      expect(initialPools.map(({ asset }) => asset)).toEqual(['ETH', 'BTC', 'USDC'])
      const assets = chainlinkFeeds(chain).map(({ asset }) => asset)
      expect(assets.slice(0, 4)).toEqual(['USDC', 'USDT', 'ETH', 'BTC'])
    }
  })
})

test('heartbeats are a day, or the shorter documented ones of ETH and BTC', () => {
  const hours = evmChains.map(({ chain }) =>
    chainlinkFeeds(chain).map(({ heartbeatMs }) => Math.round((heartbeatMs / 3_600_000) * 60) / 60),
  )
  expect(hours[0]).toEqual([24, 24, 1, 1, 24])
  expect(hours[2]).toEqual([24, 24, 20 / 60, 20 / 60, 24])
  for (const index of [1, 3, 4, 5, 6]) expect(new Set(hours[index])).toEqual(new Set([24]))
})

describe('published facts (needs ../shared/data)', () => {
  test.skipIf(isAbsent)('the feeds on Monad match the list of sponsored feeds', () => {
    const { feeds } = JSON.parse(read('pyth-push-feeds/monad-mainnet.json')) as { feeds: Feed[] }
    for (const { asset, id, resolutionBps } of pythFeeds) {
      const published = feeds.find(({ alias }) => alias === `${asset}/USD`)
      expect(published?.id, asset).toBe(id.slice(2))
      expect(resolutionBps).toBeCloseTo((published?.price_deviation ?? 0) * 100, 9)
      expect(PYTH_PUSH_HEARTBEAT_MS).toBe((published?.time_difference ?? 0) * 1_000)
    }
  })

  test.skipIf(isAbsent)('the contracts on Monad match the contract store', () => {
    const contracts = JSON.parse(read('pyth-push-feeds/EvmPriceFeedContracts.json')) as {
      readonly address: string
      readonly chain: string
    }[]
    const published = contracts.filter(({ chain }) => chain === 'monad')
    expect(new Set(published.map(({ address }) => address))).toEqual(new Set(pythContracts))
  })

  test.skipIf(isAbsent)('400 recorded rounds of USDC keep the threshold and the heartbeat', () => {
    const lines = read('usdc-depeg-2023-chainlink/usdc_usd_depeg_230312.csv').trim().split('\n')
    const rounds = lines.slice(2).map((line) => {
      const [, answer, updatedAt] = line.split(',')
      return {
        priceUsd: Number(answer) / 10 ** CHAINLINK_DECIMALS,
        atMs: Number(updatedAt) * 1_000,
      }
    })
    const usdc = chainlinkFeeds('ethereum').find(({ asset }) => asset === 'USDC')
    if (usdc === undefined) throw new Error('no feed')
    expect(rounds).toHaveLength(400)
    for (const [index, { priceUsd, atMs }] of rounds.entries()) {
      const before = rounds[index - 1]
      if (before === undefined) continue
      const lateMs = atMs - before.atMs - usdc.heartbeatMs
      expect(lateMs, 'a few blocks').toBeLessThan(120_000)
      const movedBps = Math.abs(priceUsd / before.priceUsd - 1) * 1e4
      if (lateMs < -120_000) expect(movedBps).toBeGreaterThanOrEqual(usdc.resolutionBps)
    }
  })
})
