import type { ChainEvent, OraclePriceEvent, PoolEvent } from '../../../domain/external.ts'
import { isPlausiblePrice, isPlausibleTime } from '../plausible.ts'
import type { SourceNotice } from '../source.ts'
import type { SolanaAccount } from './account.ts'
import { readAccounts } from './account.ts'
import { CLOCK_ACCOUNT, readChainClockMs } from './chain-clock.ts'
import type { PriceUpdate } from './price-update.ts'
import { readPriceUpdate } from './price-update.ts'
import type { PushedFeed } from './pushed-feeds.ts'
import { PUSH_HEARTBEAT_MS, PUSH_RESOLUTION_BPS, pushedFeeds } from './pushed-feeds.ts'
import { readTokenAmount } from './token-account.ts'
import { readWhirlpool, whirlpoolPrice, whirlpoolReserveB } from './whirlpool.ts'
import type { OrcaPool } from './whirlpool-pairs.ts'

/** All requested accounts as of one block. */
export type Snapshot = {
  readonly slot: number
  readonly blockTimeMs: number
  readonly accountOf: (key: string) => SolanaAccount | null
}

type OnNotice = (notice: SourceNotice) => void

/** The fee of one signature, and a priority fee of 0.05 lamports per unit for 200,000 compute units. */
const SWAP_LAMPORTS = 5_000 + 200_000 * 0.05
const LAMPORTS_PER_SOL = 1e9

/** The keys of one request, of which a node accepts 100. */
export function snapshotKeys(pools: readonly OrcaPool[]): readonly string[] {
  const feeds = pushedFeeds.flatMap(({ accounts }) => accounts)
  const pooled = pools.flatMap(({ address, quoteVault }) => [address, quoteVault])
  return [CLOCK_ACCOUNT, ...feeds, ...pooled]
}

/** @returns null for a result that does not answer these keys or holds no block time */
export function readSnapshot(result: unknown, keys: readonly string[]): Snapshot | null {
  const reply = readAccounts(result, keys.length)
  if (reply === null) return null
  const byKey = new Map(keys.map((key, at) => [key, reply.accounts[at] ?? null]))
  const accountOf = (key: string) => byKey.get(key) ?? null
  const blockTimeMs = readChainClockMs(accountOf(CLOCK_ACCOUNT))
  return blockTimeMs === null ? null : { slot: reply.slot, blockTimeMs, accountOf }
}

export function readChain({ slot, blockTimeMs }: Snapshot, nowMs: number): ChainEvent {
  return {
    kind: 'chain',
    chain: 'solana',
    blockNumber: slot,
    swapGasNative: SWAP_LAMPORTS / LAMPORTS_PER_SOL,
    native: 'SOL',
    timeExchangeMs: blockTimeMs,
    timeReceivedMs: nowMs,
  }
}

export function readPools(
  snapshot: Snapshot,
  pools: readonly OrcaPool[],
  nowMs: number,
  onNotice: OnNotice,
): readonly PoolEvent[] {
  return pools.flatMap((pool) => {
    const event = readPool(snapshot, pool, nowMs)
    if (event !== null) return event
    const { asset, quote } = pool.pair
    const detail = `${asset}/${quote} orca-whirlpool ${pool.address}: invalid account or price`
    onNotice({ source: 'solana', kind: 'pool_refused', detail })
    return []
  })
}

/** The newer plausible price of the two accounts of each feed. @param readMs as of `readMsOf` */
export function readOracles(
  { accountOf }: Snapshot,
  readMs: number,
  nowMs: number,
  onNotice: OnNotice,
): readonly OraclePriceEvent[] {
  return pushedFeeds.flatMap((feed) => {
    let newest: PriceUpdate | null = null
    for (const key of feed.accounts) {
      const account = accountOf(key)
      if (account === null) continue
      const update = readPriceUpdate(account, feed.id)
      if (update === null || !isPlausibleTime(update.publishTimeMs, nowMs))
        onNotice({
          source: 'pyth-solana',
          kind: 'price_refused',
          detail: `${feed.asset}: account ${key} holds no plausible price`,
        })
      else if (update.publishTimeMs > (newest?.publishTimeMs ?? 0)) newest = update
    }
    return newest === null ? [] : oraclePrice(feed, newest, readMs)
  })
}

function readPool(
  { slot, blockTimeMs, accountOf }: Snapshot,
  { pair, address, quoteVault }: OrcaPool,
  nowMs: number,
): PoolEvent | null {
  const { asset, representation, quote, assetMint, quoteMint } = pair
  const read = readWhirlpool(accountOf(address))
  const balance = readTokenAmount(accountOf(quoteVault), quoteMint.address, address)
  if (read === null || balance === null || read.vaultB !== quoteVault) return null
  if (read.mintA !== assetMint.address || read.mintB !== quoteMint.address) return null
  const price = whirlpoolPrice(read, assetMint.decimals, quoteMint.decimals)
  // Without liquidity the price is the one of the last swap, whenever that was.
  if (!isPlausiblePrice(price) || read.liquidity === 0n) return null
  return {
    ...{ kind: 'pool', chain: 'solana', dex: 'orca-whirlpool', pool: address },
    ...{ asset, representation, quote, price },
    // Whirlpool accounts store no price history.
    twapPrice: null,
    feeBps: read.feeRate / 100,
    reserveQuote: whirlpoolReserveB(read, quoteMint.decimals),
    balanceQuote: Number(balance) / 10 ** quoteMint.decimals,
    blockNumber: slot,
    timeExchangeMs: blockTimeMs,
    timeReceivedMs: nowMs,
  }
}

function oraclePrice(
  { asset }: PushedFeed,
  { price, ema, publishTimeMs }: PriceUpdate,
  readMs: number,
): OraclePriceEvent {
  return {
    ...{ kind: 'oracle-price', network: 'pyth-solana', place: '' },
    ...{ asset, ...price, ema },
    resolutionBps: PUSH_RESOLUTION_BPS,
    heartbeatMs: PUSH_HEARTBEAT_MS,
    timeExchangeMs: publishTimeMs,
    timeReceivedMs: readMs,
  }
}
