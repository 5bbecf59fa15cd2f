import type {
  ChainEvent,
  ExternalEvent,
  OraclePriceEvent,
  PoolEvent,
} from '../../../domain/external.ts'
import { isSanePrice, isSaneTime } from '../sane.ts'
import type { SourceNotice } from '../source.ts'
import type { Account } from './account.ts'
import { readAccounts } from './account.ts'
import { CLOCK_ACCOUNT, readChainClockMs } from './chain-clock.ts'
import type { PriceUpdate } from './price-update.ts'
import { readPriceUpdate } from './price-update.ts'
import type { PushedFeed } from './pushed-feeds.ts'
import { PUSH_HEARTBEAT_MS, PUSH_RESOLUTION_BPS, pushedFeeds } from './pushed-feeds.ts'
import { readTokenAmount } from './token-account.ts'
import { readWhirlpool, whirlpoolPrice, whirlpoolReserveB } from './whirlpool.ts'
import type { WhirlpoolPair } from './whirlpool-pairs.ts'

/** A pool that is worth reading, and the account in which it holds the quote token. */
export type PoolSeat = {
  readonly pair: WhirlpoolPair
  readonly pool: string
  readonly quoteVault: string
}

/** Everything that is asked for, as of one block. */
export type Snapshot = {
  readonly slot: number
  readonly blockTimeMs: number
  readonly accountOf: (key: string) => Account | null
}

export type Heard<Event extends ExternalEvent> = {
  readonly events: readonly Event[]
  /** What was passed over. */
  readonly notices: readonly SourceNotice[]
}

/**
 * What one swap costs in lamports: the fee of its one signature, and for a place in a busy block, on 200,000
 * units of computation, 0.05 each. Nobody who is in a hurry pays less, and in a rush all pay more.
 */
const SWAP_LAMPORTS = 5_000 + 200_000 * 0.05
const LAMPORTS_PER_SOL = 1e9

/** In one request, of which a node answers 100 keys. */
export function snapshotKeys(seats: readonly PoolSeat[]): readonly string[] {
  const feeds = pushedFeeds.flatMap(({ accounts }) => accounts)
  return [CLOCK_ACCOUNT, ...feeds, ...seats.flatMap(({ pool, quoteVault }) => [pool, quoteVault])]
}

/** @returns null for what is no answer to these keys, or does not tell the time */
export function readSnapshot(result: unknown, keys: readonly string[]): Snapshot | null {
  const answer = readAccounts(result, keys.length)
  if (answer === null) return null
  const byKey = new Map(keys.map((key, at) => [key, answer.accounts[at] ?? null]))
  const accountOf = (key: string) => byKey.get(key) ?? null
  const blockTimeMs = readChainClockMs(accountOf(CLOCK_ACCOUNT))
  return blockTimeMs === null ? null : { slot: answer.slot, blockTimeMs, accountOf }
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
  seats: readonly PoolSeat[],
  nowMs: number,
): Heard<PoolEvent> {
  const events: PoolEvent[] = []
  const notices: SourceNotice[] = []
  for (const seat of seats) {
    const event = readPool(snapshot, seat, nowMs)
    if (event !== null) events.push(event)
    else notices.push({ source: 'solana', kind: 'pool_refused', detail: seat.pool })
  }
  return { events, notices }
}

/** The fresher of the two accounts of each feed. */
export function readOracles(snapshot: Snapshot, nowMs: number): Heard<OraclePriceEvent> {
  const events: OraclePriceEvent[] = []
  const notices: SourceNotice[] = []
  for (const feed of pushedFeeds) {
    let newest: PriceUpdate | null = null
    for (const key of feed.accounts) {
      const account = snapshot.accountOf(key)
      if (account === null) continue
      const update = readPriceUpdate(account, feed.id)
      if (update === null || !isSane(update, nowMs))
        notices.push({ source: 'pyth-solana', kind: 'price_refused', detail: feed.asset })
      else if (update.publishTimeMs > (newest?.publishTimeMs ?? 0)) newest = update
    }
    if (newest !== null) events.push(oraclePrice(feed, newest, nowMs))
  }
  return { events, notices }
}

function readPool(
  { slot, blockTimeMs, accountOf }: Snapshot,
  { pair, pool, quoteVault }: PoolSeat,
  nowMs: number,
): PoolEvent | null {
  const { asset, representation, quote, assetMint, quoteMint } = pair
  const read = readWhirlpool(accountOf(pool))
  const balance = readTokenAmount(accountOf(quoteVault), quoteMint.address, pool)
  if (read === null || balance === null || read.vaultB !== quoteVault) return null
  if (read.mintA !== assetMint.address || read.mintB !== quoteMint.address) return null
  const price = whirlpoolPrice(read, assetMint.decimals, quoteMint.decimals)
  // Without liquidity nobody trades there, and the price is whatever it was last.
  if (!isSanePrice(price) || read.liquidity === 0n) return null
  return {
    ...{ kind: 'pool', chain: 'solana', dex: 'orca-whirlpool', pool },
    ...{ asset, representation, quote, price },
    // The pool keeps no history of its price.
    twapPrice: null,
    feeBps: read.feeRate / 100,
    reserveQuote: whirlpoolReserveB(read, quoteMint.decimals),
    balanceQuote: Number(balance) / 10 ** quoteMint.decimals,
    blockNumber: slot,
    timeExchangeMs: blockTimeMs,
    timeReceivedMs: nowMs,
  }
}

function isSane({ priceUsd, confidenceUsd, publishTimeMs }: PriceUpdate, nowMs: number): boolean {
  return isSanePrice(priceUsd) && confidenceUsd < priceUsd && isSaneTime(publishTimeMs, nowMs)
}

function oraclePrice(
  { asset }: PushedFeed,
  { priceUsd, confidenceUsd, emaPriceUsd, emaConfidenceUsd, publishTimeMs }: PriceUpdate,
  nowMs: number,
): OraclePriceEvent {
  const isEmaSane = isSanePrice(emaPriceUsd) && emaConfidenceUsd < emaPriceUsd
  return {
    ...{ kind: 'oracle-price', network: 'pyth-solana', place: '' },
    ...{ asset, priceUsd, confidenceUsd },
    ema: isEmaSane ? { priceUsd: emaPriceUsd, confidenceUsd: emaConfidenceUsd } : null,
    resolutionBps: PUSH_RESOLUTION_BPS,
    heartbeatMs: PUSH_HEARTBEAT_MS,
    timeExchangeMs: publishTimeMs,
    timeReceivedMs: nowMs,
  }
}
