import type { Observable } from 'rxjs'
import { catchError, concat, concatMap, defer, EMPTY, map, of } from 'rxjs'
import type { Hex } from 'viem'
import type { Batch } from '../../../domain/event.ts'
import type { ChainEvent } from '../../../domain/external.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { polled } from '../json-rpc/polled.ts'
import type { Judged, Told } from '../json-rpc/rpc-nodes.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import { isSaneTime } from '../sane.ts'
import type { Source, SourceAddress, SourceContext } from '../source.ts'
import { ToldStatus } from '../told-status.ts'
import { chainlinkEvents, poolEvents } from './chain-events.ts'
import type { ChainWord } from './chain-reading.ts'
import { ChainReading } from './chain-reading.ts'
import { MULTICALL3 } from './contract-views.ts'
import type { EvmChain, EvmChainFacts, PoolSeat } from './evm-chains.ts'
import { evmChains } from './evm-chains.ts'
import { DepthCheck, PoolSearch, reseated } from './pool-discovery.ts'
import { hexOf, weiOf } from './rpc-values.ts'

/** Of a swap in one v3 pool. What a rollup asks for its data on Ethereum is left out: below a cent. */
const SWAP_GAS = 150_000
const WEI_PER_NATIVE = 1e18
const STAGGER_MS = 1_000
const HOUR_MS = 3_600_000
/** After a discovery that failed. */
const DISCOVERY_RETRY_MS = 60_000
/** A node of another chain does not become one of this soon. */
const WRONG_CHAIN_REST_MS = HOUR_MS

/** How far a node may be behind another, and a chain behind the clock. */
const BEHIND = { blocks: 3, msMin: 5_000 }
const STALE = { blocks: 5, msMin: 30_000 }

/** One chain: its deepest pools, its gas and its Chainlink feeds, as of one block. */
export function evmChainSource(chain: EvmChain): Source {
  const index = evmChains.findIndex((facts) => facts.chain === chain)
  const facts = evmChains[index]
  if (facts === undefined) throw new RangeError(`no such chain: ${chain}`)
  return (address, context, runtime) =>
    defer(() => {
      const watch = new ChainWatch(facts, address, context, runtime)
      return concat(
        of(watch.started()),
        polled({
          runtime,
          offsetMs: index * STAGGER_MS,
          round: () => watch.round(),
          failed: (cause) => watch.failed(cause),
        }),
      )
    })
}

/** What is known of one chain between two rounds. */
class ChainWatch {
  readonly #facts: EvmChainFacts
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #nodes: RpcNodes
  readonly #status: ToldStatus
  /** Ethereum has all feeds: it speaks for the network. */
  readonly #chainlink: ToldStatus | null
  #reading: ChainReading
  #newestBlockMs = 0
  #discoveryDueMs = Number.NEGATIVE_INFINITY

  constructor(
    facts: EvmChainFacts,
    { urls }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
  ) {
    this.#facts = facts
    this.#context = context
    this.#runtime = runtime
    this.#nodes = new RpcNodes(urls, runtime, (detail) => this.#note('node_failed', detail))
    this.#status = new ToldStatus(facts.chain)
    this.#chainlink = facts.chain === 'ethereum' ? new ToldStatus('chainlink') : null
    this.#reading = new ChainReading(facts, facts.seeds)
  }

  started(): Batch {
    return this.#down('not asked yet')
  }

  failed(cause: unknown): Batch {
    return this.#down(cause instanceof Error ? cause.message : 'no node answers')
  }

  round(): Observable<Batch> {
    return concat(this.#read(), this.#discover())
  }

  #read(): Observable<Batch> {
    const reading = this.#reading
    const judge = (result: unknown) => this.#judge(reading, result)
    return this.#call(reading, judge).pipe(
      concatMap(({ answer: word, isLate }) => {
        const receivedMs = this.#runtime.scheduler.now()
        this.#newestBlockMs = Math.max(this.#newestBlockMs, word.blockTimeMs)
        return this.#gasPrice().pipe(
          map((wei) => this.#told(reading, word, { isLate, wei, receivedMs })),
        )
      }),
    )
  }

  #judge(reading: ChainReading, result: unknown): Judged<ChainWord> {
    const nowMs = this.#runtime.scheduler.now()
    const data = hexOf(result)
    const word = data === null ? 'undecodable' : reading.decode(data)
    if (word === 'wrong chain') return { verdict: 'bad', reason: word, restMs: WRONG_CHAIN_REST_MS }
    if (word === 'undecodable') return { verdict: 'bad', reason: word }
    const { blockTimeMs } = word
    if (!isSaneTime(blockTimeMs, nowMs)) return { verdict: 'bad', reason: 'block of the future' }
    if (blockTimeMs < this.#newestBlockMs - this.#ageMs(BEHIND))
      return { verdict: 'bad', reason: 'behind' }
    if (blockTimeMs < nowMs - this.#ageMs(STALE))
      return { verdict: 'late', answer: word, asOfMs: blockTimeMs }
    return { verdict: 'good', answer: word }
  }

  #told(
    reading: ChainReading,
    word: ChainWord,
    {
      isLate,
      wei,
      receivedMs,
    }: { readonly isLate: boolean; readonly wei: number | null; readonly receivedMs: number },
  ): Batch {
    const { chain, native } = this.#facts
    const refused = (kind: string, detail: string) => this.#note(kind, detail)
    const pools = poolEvents(chain, word, receivedMs, refused)
    const prices = chainlinkEvents(chain, word, receivedMs, refused)
    const told: Batch[] = [this.#statusOf(isLate, wei, pools.length, receivedMs)]
    if (this.#chainlink !== null) {
      const missing = reading.feeds.length - prices.length
      const state = prices.length === 0 ? 'down' : missing === 0 ? 'up' : 'degraded'
      told.push(this.#chainlink.tell(state, missing === 0 ? '' : 'feeds are missing', receivedMs))
    }
    if (wei !== null) {
      const state: ChainEvent = {
        kind: 'chain',
        chain,
        native,
        blockNumber: word.blockNumber,
        swapGasNative: (wei * SWAP_GAS) / WEI_PER_NATIVE,
        timeExchangeMs: word.blockTimeMs,
        timeReceivedMs: receivedMs,
      }
      told.push([state])
    }
    return [...told, pools, prices].flat()
  }

  #statusOf(isLate: boolean, wei: number | null, pools: number, nowMs: number): Batch {
    if (isLate) return this.#status.tell('degraded', 'no new blocks', nowMs)
    if (pools === 0) return this.#status.tell('degraded', 'no pool tells a price', nowMs)
    if (wei === null) return this.#status.tell('degraded', 'no gas price', nowMs)
    return this.#status.tell('up', '', nowMs)
  }

  /**
   * A question of its own: what a contract sees of the base fee in an `eth_call` without a gas price is
   * zero, by agreement of the node implementations.
   */
  #gasPrice(): Observable<number | null> {
    const judge = (result: unknown): Judged<number> => {
      const wei = weiOf(result)
      return wei === null
        ? { verdict: 'bad', reason: 'absurd gas price' }
        : { verdict: 'good', answer: wei }
    }
    return this.#nodes.ask({ method: 'eth_gasPrice', params: [], judge }).pipe(
      map(({ answer }) => answer),
      catchError(() => of(null)),
    )
  }

  #discover(): Observable<Batch> {
    return defer(() => {
      const { scheduler } = this.#runtime
      if (scheduler.now() < this.#discoveryDueMs) return EMPTY
      this.#discoveryDueMs = scheduler.now() + DISCOVERY_RETRY_MS
      return this.#ask(new PoolSearch(this.#facts)).pipe(
        concatMap((seats) => this.#ask(new DepthCheck(this.#facts, seats))),
        concatMap((deepest) => {
          const seats = reseated(this.#reading.seats, deepest)
          this.#reading = new ChainReading(this.#facts, seats)
          this.#discoveryDueMs = scheduler.now() + HOUR_MS
          return EMPTY
        }),
        catchError((cause: unknown) => {
          this.#note('discovery_failed', String(cause))
          return EMPTY
        }),
      )
    })
  }

  #ask(search: PoolSearch | DepthCheck): Observable<readonly PoolSeat[]> {
    const judge = (result: unknown): Judged<readonly PoolSeat[]> => {
      const data = hexOf(result)
      const seats = data === null ? null : search.decode(data)
      if (seats === null) return { verdict: 'bad', reason: 'undecodable' }
      return { verdict: 'good', answer: seats }
    }
    return this.#call(search, judge).pipe(map(({ answer }) => answer))
  }

  #call<Answer>(
    asked: { readonly data: Hex },
    judge: (result: unknown) => Judged<Answer>,
  ): Observable<Told<Answer>> {
    const params = [{ to: MULTICALL3, data: asked.data }, 'latest']
    return this.#nodes.ask({ method: 'eth_call', params, judge })
  }

  #ageMs({ blocks, msMin }: { readonly blocks: number; readonly msMin: number }): number {
    return Math.max(blocks * this.#facts.blockMs, msMin)
  }

  #down(reason: string): Batch {
    const nowMs = this.#runtime.scheduler.now()
    const told = this.#status.tell('down', reason, nowMs)
    return [...told, ...(this.#chainlink?.tell('down', reason, nowMs) ?? [])]
  }

  #note(kind: string, detail: string): void {
    this.#context.onNotice({ source: this.#facts.chain, kind, detail })
  }
}
