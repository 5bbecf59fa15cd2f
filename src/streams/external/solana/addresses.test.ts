import type { Address } from '@solana/kit'
import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import { candidateKeys } from './discovery.ts'
import { PUSH_ORACLE_PROGRAMS, pushedFeeds } from './pushed-feeds.ts'
import { snapshotKeys } from './snapshot.ts'
import {
  TICK_SPACINGS,
  WHIRLPOOL_PROGRAM,
  WHIRLPOOLS_CONFIG,
  whirlpoolPairs,
} from './whirlpool-pairs.ts'

const KEYS_MAX = 100
const bytesOf = (text: string) => getAddressEncoder().encode(address(text))

/** As the client library of Solana derives it. */
async function derived(
  program: string,
  seeds: Parameters<typeof getProgramDerivedAddress>[0]['seeds'],
): Promise<Address> {
  const [found] = await getProgramDerivedAddress({ programAddress: address(program), seeds })
  return found
}

describe('addresses that were written down', () => {
  test.each(whirlpoolPairs)('are those of the pools of $asset/$quote', async (pair) => {
    const { assetMint, quoteMint, candidates } = pair
    const mints = [bytesOf(assetMint.address), bytesOf(quoteMint.address)]
    const [mintA = Buffer.of(), mintB = Buffer.of()] = mints
    expect(Buffer.compare(Buffer.from(mintA), Buffer.from(mintB)), 'in the order of pools').toBe(-1)
    const config = bytesOf(WHIRLPOOLS_CONFIG)
    const found = TICK_SPACINGS.map((spacing) =>
      derived(WHIRLPOOL_PROGRAM, [
        ...['whirlpool', config, ...mints],
        Uint8Array.of(spacing % 256, Math.floor(spacing / 256)),
      ]),
    )
    expect(candidates).toEqual(await Promise.all(found))
  })

  test.each(pushedFeeds)('are those of the feed of $asset', async ({ id, accounts }) => {
    const seeds = [Uint8Array.of(0, 0), Buffer.from(id, 'hex')]
    const found = PUSH_ORACLE_PROGRAMS.map((program) => derived(program, seeds))
    expect(accounts).toEqual(await Promise.all(found))
  })

  test.each([
    ['ETH/USDC', 'AU971DrPyhhrpRnmEBp5pDTWL2ny7nofb5vYBjDJkR2E'],
    ['cbBTC/USDC', 'DNEaxopF1yu6zJpNBMkLEkDyd7DQpWUtpY3nsXTy8yUh'],
    ['SOL/USDC', 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE'],
    ['USDC/USDT', '4fuUiYxTQ6QCrdSq9ouBYcTM7bqSwYTSyLueGZLTy4T4'],
  ])('have the known pool of %s among them', (_pair, pool) => {
    expect(candidateKeys).toContain(pool)
  })

  test.each([
    [
      'SOL',
      '7AviUf9nL62mcxNbQGKm4nKDQnPjswo6c5MX4D57HmyE',
      '7UVimffxr9ow1uXYxsr4LHAcV58mLzhmwaeKvJ1pjLiE',
    ],
    [
      'BTC',
      'APgzQGGdv2qCgBkX6aHVkrGePtBVDDg68GiqaM7rmtf5',
      '4cSM2e6rvbGQUFiJbqytoVMi5GgghSMr8LwVrT9VPSPo',
    ],
    [
      'ETH',
      '7odryi4WfoMFHtv2eubdMgP1pqQMmdiXSK1N2tqZ2nRH',
      '42amVS4KgzR9rA28tkVYqVXjq9Qa8dcZQMbH5EYFX6XC',
    ],
    [
      'USDC',
      '6HAuqASbHEh4w4REJEUUUCginTLfj1kwCh215ZLtMkrT',
      'Dpw1EAVrSB1ibxiDQyTAW6Zip3J4Btk2x4SgApQCeFbX',
    ],
    [
      'USDT',
      '3XBYLaF9wisQLaCxTgchH6xeNJGchwDauGpot1GcRMZV',
      'HT2PLQBcG5EiCcNSaMHAjSgd9F98ecpATbk4Sk5oYuM',
    ],
  ])('have the published accounts of %s', (asset, upgraded, old) => {
    expect(pushedFeeds.find((feed) => feed.asset === asset)?.accounts).toEqual([upgraded, old])
  })

  test('fit into one request each', () => {
    const pools = whirlpoolPairs.map((pair) => ({ pair, address: 'pool', quoteVault: 'vault' }))
    expect(snapshotKeys(pools).length).toBeLessThanOrEqual(KEYS_MAX)
    expect(candidateKeys.length).toBeLessThanOrEqual(KEYS_MAX)
  })
})
