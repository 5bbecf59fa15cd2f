import type { Observable } from 'rxjs'
import { catchError, concat, concatMap, defer, map, of, tap } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { OraclePriceEvent } from '../../../domain/external.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { polled } from '../json-rpc/polled.ts'
import type { Judged } from '../json-rpc/rpc-nodes.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import { isSaneTime } from '../sane.ts'
import type { Source, SourceAddress, SourceContext } from '../source.ts'
import { ToldStatus } from '../told-status.ts'
import type { Accounts } from './account.ts'
import { readAccounts } from './account.ts'
import { candidateKeys, deepestOf, readCandidates } from './discovery.ts'
import { PUSH_HEARTBEAT_MS } from './pushed-feeds.ts'
import type { PoolSeat, Snapshot } from './snapshot.ts'
import { readChain, readOracles, readPools, readSnapshot, snapshotKeys } from './snapshot.ts'
import { whirlpoolPairs } from './whirlpool-pairs.ts'

/** The other chains ask in the seconds before. */
const OFFSET_MS = 8_000
const DISCOVERY_PERIOD_MS = 3_600_000
/** While a pair has no pool. */
const DISCOVERY_AGAIN_MS = 60_000
/** A node is behind whose newest block is so old; blocks come every 0.4 s. */
const BLOCK_AGE_MS_MAX = 30_000
/** ... and one that is so far behind what another has told is not asked. */
const BEHIND_MS_MAX = 5_000
/** Nobody pushes any more when no feed was written for so long. */
const PUBLISHED_MS_MAX = 5 * PUSH_HEARTBEAT_MS

/**
 * Pools of Orca, and Pyth's prices as its pushers write them on chain: one request every ten seconds reads
 * all of them as of one block. Which pools are read is found out at the start and every hour.
 */
export const solana: Source = (address, context, runtime) =>
  defer(() => {
    const reader = new SolanaReader(address, context, runtime)
    return concat(
      of(reader.down('not asked yet')),
      polled({
        runtime,
        offsetMs: OFFSET_MS,
        round: () => reader.round(),
        failed: (cause) => reader.down(cause instanceof Error ? cause.message : 'no node answers'),
      }),
    )
  })

class SolanaReader {
  readonly #nodes: RpcNodes
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #chainStatus = new ToldStatus('solana')
  readonly #oracleStatus = new ToldStatus('pyth-solana')
  #seats: readonly PoolSeat[] = []
  #discoveryDueMs = Number.NEGATIVE_INFINITY
  #newestBlockMs = 0

  constructor({ urls }: SourceAddress, context: SourceContext, runtime: ExternalRuntime) {
    this.#context = context
    this.#runtime = runtime
    this.#nodes = new RpcNodes(urls, runtime, (detail) =>
      context.onNotice({ source: 'solana', kind: 'node_failed', detail }),
    )
  }

  round(): Observable<Batch> {
    return this.#discovered().pipe(concatMap(() => this.#polled()))
  }

  down(reason: string): Batch {
    const nowMs = this.#runtime.scheduler.now()
    return [
      ...this.#chainStatus.tell('down', reason, nowMs),
      ...this.#oracleStatus.tell('down', reason, nowMs),
    ]
  }

  #polled(): Observable<Batch> {
    const seats = this.#seats
    const keys = snapshotKeys(seats)
    const judge = (result: unknown) => this.#judged(readSnapshot(result, keys))
    return this.#ask(keys, judge).pipe(
      map(({ answer, isLate }) => this.#told(answer, seats, isLate)),
    )
  }

  #judged(snapshot: Snapshot | null): Judged<Snapshot> {
    if (snapshot === null) return { verdict: 'bad', reason: 'not what was asked' }
    const nowMs = this.#runtime.scheduler.now()
    if (!isSaneTime(snapshot.blockTimeMs, nowMs))
      return { verdict: 'bad', reason: 'block of another time' }
    if (snapshot.blockTimeMs < this.#newestBlockMs - BEHIND_MS_MAX)
      return { verdict: 'bad', reason: 'behind' }
    if (nowMs - snapshot.blockTimeMs <= BLOCK_AGE_MS_MAX)
      return { verdict: 'good', answer: snapshot }
    return { verdict: 'late', answer: snapshot, asOfMs: snapshot.blockTimeMs }
  }

  #told(snapshot: Snapshot, seats: readonly PoolSeat[], isLate: boolean): Batch {
    const nowMs = this.#runtime.scheduler.now()
    const pools = readPools(snapshot, seats, nowMs)
    const oracles = readOracles(snapshot, nowMs)
    this.#newestBlockMs = Math.max(this.#newestBlockMs, snapshot.blockTimeMs)
    for (const notice of [...pools.notices, ...oracles.notices]) this.#context.onNotice(notice)
    return [
      ...this.#chainStatusOf(isLate, pools.events.length, nowMs),
      ...this.#oracleStatusOf(isLate, oracles.events, nowMs),
      readChain(snapshot, nowMs),
      ...pools.events,
      ...oracles.events,
    ]
  }

  #chainStatusOf(isLate: boolean, pools: number, nowMs: number): Batch {
    if (isLate) return this.#chainStatus.tell('degraded', 'no new blocks', nowMs)
    if (pools === 0) return this.#chainStatus.tell('degraded', 'no pool tells a price', nowMs)
    return this.#chainStatus.tell('up', '', nowMs)
  }

  #oracleStatusOf(isLate: boolean, prices: readonly OraclePriceEvent[], nowMs: number): Batch {
    if (prices.length === 0) return this.#oracleStatus.tell('down', 'no feed tells a price', nowMs)
    if (isLate) return this.#oracleStatus.tell('degraded', 'no new blocks', nowMs)
    const newestMs = Math.max(...prices.map(({ timeExchangeMs }) => timeExchangeMs))
    return nowMs - newestMs > PUBLISHED_MS_MAX
      ? this.#oracleStatus.tell('degraded', 'nobody pushes prices', nowMs)
      : this.#oracleStatus.tell('up', '', nowMs)
  }

  /** Emits once, whether pools were looked for or not, and found or not. */
  #discovered(): Observable<unknown> {
    return defer(() => {
      const nowMs = this.#runtime.scheduler.now()
      if (nowMs < this.#discoveryDueMs) return of(null)
      return this.#accounts(candidateKeys).pipe(
        concatMap(({ accounts }) => {
          const candidates = readCandidates(accounts)
          const vaults = candidates.map(({ quoteVault }) => quoteVault)
          return this.#accounts(vaults).pipe(map((held) => deepestOf(candidates, held.accounts)))
        }),
        // What failed here fails the round as well, or is tried again before long.
        catchError(() => of([])),
        tap((found) => {
          this.#seats = seatedOf(found, this.#seats)
          const isWhole = found.length === whirlpoolPairs.length
          this.#discoveryDueMs = nowMs + (isWhole ? DISCOVERY_PERIOD_MS : DISCOVERY_AGAIN_MS)
          if (this.#seats.length === 0) this.#discoveryDueMs = nowMs
        }),
      )
    })
  }

  #accounts(keys: readonly string[]): Observable<Accounts> {
    const judge = (result: unknown): Judged<Accounts> => {
      const answer = readAccounts(result, keys.length)
      return answer === null
        ? { verdict: 'bad', reason: 'not what was asked' }
        : { verdict: 'good', answer }
    }
    return this.#ask(keys, judge).pipe(map(({ answer }) => answer))
  }

  #ask<Answer>(keys: readonly string[], judge: (result: unknown) => Judged<Answer>) {
    const params = [keys, { encoding: 'base64', commitment: 'confirmed' }]
    return this.#nodes.ask({ method: 'getMultipleAccounts', params, judge })
  }
}

/** A pool does not go away: where none of a pair was found, the one that was known stays. */
function seatedOf(found: readonly PoolSeat[], known: readonly PoolSeat[]): readonly PoolSeat[] {
  return whirlpoolPairs.flatMap((pair) => {
    const isOfPair = (seat: PoolSeat) => seat.pair === pair
    return found.find(isOfPair) ?? known.find(isOfPair) ?? []
  })
}
