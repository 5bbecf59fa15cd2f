import type { Observable } from 'rxjs'
import { catchError, concatMap, defer, map, of, tap } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { OraclePriceEvent } from '../../../domain/external.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { BlockAge, readMsOf } from '../json-rpc/block-age.ts'
import type { ChainReader } from '../json-rpc/chain-polling.ts'
import { pollChain } from '../json-rpc/chain-polling.ts'
import type { Assessed, NodeAnswer } from '../json-rpc/rpc-nodes.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import type { ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import type { AccountsReply } from './account.ts'
import { readAccounts } from './account.ts'
import { candidateKeys, deepestOf, readCandidates } from './discovery.ts'
import { PUSH_HEARTBEAT_MS } from './pushed-feeds.ts'
import type { Snapshot } from './snapshot.ts'
import { readChain, readOracles, readPools, readSnapshot, snapshotKeys } from './snapshot.ts'
import type { OrcaPool } from './whirlpool-pairs.ts'
import { whirlpoolPairs } from './whirlpool-pairs.ts'

/** The EVM chains are read in the seconds before. */
const OFFSET_MS = 8_000
const DISCOVERY_PERIOD_MS = 3_600_000
/** While a pair has no pool. */
const DISCOVERY_RETRY_MS = 60_000
/** Blocks come every 0.4 s. */
const LIMITS = { behindMs: 5_000, lateMs: 30_000 }
const PUBLICATION_MS_MAX = 5 * PUSH_HEARTBEAT_MS
const UNDECODABLE = { quality: 'invalid', reason: 'the reply cannot be decoded' } as const

/**
 * Pools of Orca and the push feeds of Pyth: one request every ten seconds reads all of them as of one
 * block. The deepest pools are discovered at the start and every hour.
 */
export const solanaSource: ExternalSource = (address, context, runtime) =>
  defer(() => pollChain(new SolanaReader(address, context, runtime), runtime, OFFSET_MS))

class SolanaReader implements ChainReader {
  readonly #nodes: RpcNodes
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #age = new BlockAge(LIMITS)
  readonly #chainStatus = new SourceStatus('solana')
  readonly #oracleStatus = new SourceStatus('pyth-solana')
  #pools: readonly OrcaPool[] = []
  #discoveryDueMs = Number.NEGATIVE_INFINITY

  constructor({ urls }: SourceAddress, context: SourceContext, runtime: ExternalRuntime) {
    this.#context = context
    this.#runtime = runtime
    this.#nodes = new RpcNodes(urls, runtime, (detail) =>
      context.onNotice({ source: 'solana', kind: 'node_failed', detail }),
    )
  }

  down(reason: string): Batch {
    const nowMs = this.#runtime.scheduler.now()
    return [
      ...this.#chainStatus.set('down', reason, nowMs),
      ...this.#oracleStatus.set('down', reason, nowMs),
    ]
  }

  round(): Observable<Batch> {
    return this.#discover().pipe(concatMap(() => this.#read()))
  }

  #read(): Observable<Batch> {
    const keys = snapshotKeys(this.#pools)
    const assess = (result: unknown): Assessed<Snapshot> => {
      const snapshot = readSnapshot(result, keys)
      if (snapshot === null) return UNDECODABLE
      return this.#age.assess(snapshot, this.#runtime.scheduler.now())
    }
    return this.#request(keys, assess).pipe(
      map(({ value, isLate }) => this.#eventsOf(value, isLate)),
    )
  }

  #eventsOf(snapshot: Snapshot, isLate: boolean): Batch {
    const nowMs = this.#runtime.scheduler.now()
    const { onNotice } = this.#context
    const pools = readPools(snapshot, this.#pools, nowMs, onNotice)
    const prices = readOracles(snapshot, readMsOf(snapshot, isLate, nowMs), nowMs, onNotice)
    return [
      ...this.#chainStatusOf(isLate, pools.length, nowMs),
      ...this.#oracleStatusOf(isLate, prices, nowMs),
      readChain(snapshot, nowMs),
      ...pools,
      ...prices,
    ]
  }

  #chainStatusOf(isLate: boolean, pools: number, nowMs: number): Batch {
    if (isLate) return this.#chainStatus.set('degraded', 'no new blocks', nowMs)
    if (pools === 0)
      return this.#chainStatus.set('degraded', 'no pool has a plausible price', nowMs)
    return this.#chainStatus.set('up', '', nowMs)
  }

  #oracleStatusOf(isLate: boolean, prices: readonly OraclePriceEvent[], nowMs: number): Batch {
    if (prices.length === 0)
      return this.#oracleStatus.set('down', 'no feed has a plausible price', nowMs)
    if (isLate) return this.#oracleStatus.set('degraded', 'no new blocks', nowMs)
    const newestMs = Math.max(...prices.map(({ timeExchangeMs }) => timeExchangeMs))
    if (nowMs - newestMs <= PUBLICATION_MS_MAX) return this.#oracleStatus.set('up', '', nowMs)
    const reason = `no feed was published for ${PUBLICATION_MS_MAX / 1_000} s`
    return this.#oracleStatus.set('degraded', reason, nowMs)
  }

  /** Emits once, also if nothing was due or found. */
  #discover(): Observable<unknown> {
    return defer(() => {
      const nowMs = this.#runtime.scheduler.now()
      if (nowMs < this.#discoveryDueMs) return of(null)
      return this.#accounts(candidateKeys).pipe(
        concatMap(({ value: { accounts } }) => {
          const candidates = readCandidates(accounts)
          const vaults = candidates.map(({ quoteVault }) => quoteVault)
          return this.#accounts(vaults).pipe(
            map(({ value }) => deepestOf(candidates, value.accounts)),
          )
        }),
        // A failed discovery is repeated; if no node answers, the round fails as well.
        catchError(() => of([])),
        tap((found) => {
          this.#pools = replacePools(this.#pools, found)
          const isComplete = found.length === whirlpoolPairs.length
          this.#discoveryDueMs = nowMs + (isComplete ? DISCOVERY_PERIOD_MS : DISCOVERY_RETRY_MS)
          if (this.#pools.length === 0) this.#discoveryDueMs = nowMs
        }),
      )
    })
  }

  #accounts(keys: readonly string[]): Observable<NodeAnswer<AccountsReply>> {
    return this.#request(keys, (result): Assessed<AccountsReply> => {
      const value = readAccounts(result, keys.length)
      return value === null ? UNDECODABLE : { quality: 'current', value }
    })
  }

  #request<Value>(keys: readonly string[], assess: (result: unknown) => Assessed<Value>) {
    const params = [keys, { encoding: 'base64', commitment: 'confirmed' }]
    return this.#nodes.call({ method: 'getMultipleAccounts', params, assess })
  }
}

/** Keeps the known pool of a pair for which none was found. */
function replacePools(known: readonly OrcaPool[], found: readonly OrcaPool[]): readonly OrcaPool[] {
  return whirlpoolPairs.flatMap((pair) => {
    const isOfPair = (pool: OrcaPool) => pool.pair === pair
    return found.find(isOfPair) ?? known.find(isOfPair) ?? []
  })
}
