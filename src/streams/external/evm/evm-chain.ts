import type { Observable } from 'rxjs'
import { catchError, concat, concatMap, defer, EMPTY, map, of } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ChainEvent } from '../../../domain/external.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { BlockAge, readMsOf } from '../json-rpc/block-age.ts'
import type { ChainReader } from '../json-rpc/chain-polling.ts'
import { pollChain } from '../json-rpc/chain-polling.ts'
import type { Assessed } from '../json-rpc/rpc-nodes.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import type { ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import { queryBlock } from './block-query.ts'
import { chainlinkEvents, poolEvents } from './chain-events.ts'
import type { ChainReading } from './chain-query.ts'
import { chainQuery } from './chain-query.ts'
import { chainlinkFeeds } from './chainlink-feeds.ts'
import type { EvmChainConfig, EvmChainName, EvmPool } from './evm-chains.ts'
import { evmChains } from './evm-chains.ts'
import { deepestPools, poolSearch, replacePools } from './pool-discovery.ts'

/** Gas of a swap in one v3 pool. The data fee of rollups is left out: it is below a cent. */
const SWAP_GAS = 150_000
const WEI_PER_NATIVE = 1e18
/** A million gwei: a higher gas price is an error of the node. */
const GAS_PRICE_WEI_MAX = 1e15
const STAGGER_MS = 1_000
const DISCOVERY_PERIOD_MS = 3_600_000
const DISCOVERY_RETRY_MS = 60_000

const BEHIND = { blocks: 3, msMin: 5_000 }
const LATE = { blocks: 5, msMin: 30_000 }

/** The deepest pools, the gas price and the Chainlink feeds of one chain, as of one block. */
export function evmChainSource(chain: EvmChainName): ExternalSource {
  const index = evmChains.findIndex((config) => config.chain === chain)
  const config = evmChains[index]
  if (config === undefined) throw new RangeError(`no such chain: ${chain}`)
  return (address, context, runtime) =>
    defer(() => {
      const reader = new EvmChainReader(config, address, context, runtime)
      return pollChain(reader, runtime, index * STAGGER_MS)
    })
}

class EvmChainReader implements ChainReader {
  readonly #config: EvmChainConfig
  readonly #context: SourceContext
  readonly #runtime: ExternalRuntime
  readonly #nodes: RpcNodes
  readonly #age: BlockAge
  readonly #status: SourceStatus
  /** Reported by Ethereum only, which has all feeds. */
  readonly #chainlink: SourceStatus | null
  #pools: readonly EvmPool[]
  /** Re-encoded only when the pools change. */
  #query: ReturnType<typeof chainQuery>
  #discoveryDueMs = Number.NEGATIVE_INFINITY

  constructor(
    config: EvmChainConfig,
    { urls }: SourceAddress,
    context: SourceContext,
    runtime: ExternalRuntime,
  ) {
    const { blockMs, chain, initialPools } = config
    const limit = ({ blocks, msMin }: typeof LATE) => Math.max(blocks * blockMs, msMin)
    this.#config = config
    this.#context = context
    this.#runtime = runtime
    this.#nodes = new RpcNodes(urls, runtime, (detail) => this.#note('node_failed', detail))
    this.#age = new BlockAge({ behindMs: limit(BEHIND), lateMs: limit(LATE) })
    this.#status = new SourceStatus(chain)
    this.#chainlink = chain === 'ethereum' ? new SourceStatus('chainlink') : null
    this.#pools = initialPools
    this.#query = chainQuery(config, initialPools)
  }

  down(reason: string): Batch {
    const nowMs = this.#runtime.scheduler.now()
    const chainlink = this.#chainlink?.set('down', reason, nowMs) ?? []
    return [...this.#status.set('down', reason, nowMs), ...chainlink]
  }

  round(): Observable<Batch> {
    return concat(this.#read(), this.#discover())
  }

  #read(): Observable<Batch> {
    const { scheduler } = this.#runtime
    return queryBlock(this.#nodes, this.#query, (value) =>
      this.#age.assess(value, scheduler.now()),
    ).pipe(
      concatMap(({ value, isLate }) => {
        const receivedMs = scheduler.now()
        return this.#gasPriceWei().pipe(
          map((wei) => this.#eventsOf(value, isLate, wei, receivedMs)),
        )
      }),
    )
  }

  #eventsOf(reading: ChainReading, isLate: boolean, wei: number | null, receivedMs: number): Batch {
    const { chain, native } = this.#config
    const onRefused = (kind: string, detail: string) => this.#note(kind, detail)
    const pools = poolEvents(chain, reading, receivedMs, onRefused)
    const prices = chainlinkEvents(chain, reading, readMsOf(reading, isLate, receivedMs), onRefused)
    const state: ChainEvent[] =
      wei === null
        ? []
        : [
            {
              kind: 'chain',
              chain,
              native,
              blockNumber: reading.blockNumber,
              swapGasNative: (wei * SWAP_GAS) / WEI_PER_NATIVE,
              timeExchangeMs: reading.blockTimeMs,
              timeReceivedMs: receivedMs,
            },
          ]
    return [
      ...this.#statusOf(isLate, wei, pools.length, receivedMs),
      ...this.#chainlinkStatusOf(isLate, prices.length, receivedMs),
      ...state,
      ...pools,
      ...prices,
    ]
  }

  #statusOf(isLate: boolean, wei: number | null, pools: number, nowMs: number): Batch {
    if (isLate) return this.#status.set('degraded', 'no new blocks', nowMs)
    if (pools === 0) return this.#status.set('degraded', 'no pool has a plausible price', nowMs)
    if (wei === null) return this.#status.set('degraded', 'no gas price', nowMs)
    return this.#status.set('up', '', nowMs)
  }

  #chainlinkStatusOf(isLate: boolean, prices: number, nowMs: number): Batch {
    if (this.#chainlink === null) return []
    const feeds = chainlinkFeeds(this.#config.chain).length
    const missing = `${feeds - prices} of ${feeds} feeds missing`
    if (prices === 0) return this.#chainlink.set('down', missing, nowMs)
    if (isLate) return this.#chainlink.set('degraded', 'no new blocks', nowMs)
    if (prices < feeds) return this.#chainlink.set('degraded', missing, nowMs)
    return this.#chainlink.set('up', '', nowMs)
  }

  /** A separate request: in an `eth_call` without a gas price, nodes set the base fee to zero. */
  #gasPriceWei(): Observable<number | null> {
    return this.#nodes.call({ method: 'eth_gasPrice', params: [], assess: assessGasPrice }).pipe(
      map(({ value }) => value),
      catchError(() => of(null)),
    )
  }

  #discover(): Observable<Batch> {
    const { scheduler } = this.#runtime
    return defer(() => {
      if (scheduler.now() < this.#discoveryDueMs) return EMPTY
      this.#discoveryDueMs = scheduler.now() + DISCOVERY_RETRY_MS
      return queryBlock(this.#nodes, poolSearch(this.#config)).pipe(
        concatMap(({ value }) => queryBlock(this.#nodes, deepestPools(this.#config, value.pools))),
        concatMap(({ value }) => {
          this.#pools = replacePools(this.#pools, value.pools)
          this.#query = chainQuery(this.#config, this.#pools)
          this.#discoveryDueMs = scheduler.now() + DISCOVERY_PERIOD_MS
          return EMPTY
        }),
        catchError((cause: unknown) => {
          this.#note('discovery_failed', String(cause))
          return EMPTY
        }),
      )
    })
  }

  #note(kind: string, detail: string): void {
    this.#context.onNotice({ source: this.#config.chain, kind, detail })
  }
}

function assessGasPrice(result: unknown): Assessed<number> {
  const isQuantity = typeof result === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(result)
  const wei = isQuantity ? Number(BigInt(result)) : 0
  if (wei > 0 && wei <= GAS_PRICE_WEI_MAX) return { quality: 'current', value: wei }
  return { quality: 'invalid', reason: `implausible gas price ${String(result).slice(0, 80)}` }
}
