import type { Observable } from 'rxjs'
import { defer, map } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { BlockAge, readMsOf } from '../json-rpc/block-age.ts'
import type { ChainReader } from '../json-rpc/chain-polling.ts'
import { pollChain } from '../json-rpc/chain-polling.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import type { ExternalSource, SourceAddress, SourceContext } from '../source.ts'
import { SourceStatus } from '../source-status.ts'
import { queryBlock } from './block-query.ts'
import { evmChains } from './evm-chains.ts'
import { listedFeeds, pythEvents } from './pyth-events.ts'
import { pythQuery } from './pyth-query.ts'

const STAGGER_MS = 1_000
/** The source is degraded if a larger share of the feeds of listed assets has no price. */
const MISSING_SHARE_MAX = 0.5

/** Pyth's sponsored push feeds on Monad, which any node returns without a key. */
export const pythEvm: ExternalSource = (address, context, runtime) =>
  defer(() => {
    const reader = new PythReader(address, context, runtime)
    return pollChain(reader, runtime, evmChains.length * STAGGER_MS)
  })

class PythReader implements ChainReader {
  readonly #runtime: ExternalRuntime
  readonly #context: SourceContext
  readonly #nodes: RpcNodes
  readonly #status = new SourceStatus('pyth-evm')
  readonly #query = pythQuery()
  readonly #age = new BlockAge({ behindMs: 5_000, lateMs: 60_000 })

  constructor({ urls }: SourceAddress, context: SourceContext, runtime: ExternalRuntime) {
    this.#runtime = runtime
    this.#context = context
    this.#nodes = new RpcNodes(urls, runtime, (detail) => this.#note('node_failed', detail))
  }

  down(reason: string): Batch {
    return this.#status.set('down', reason, this.#runtime.scheduler.now())
  }

  round(): Observable<Batch> {
    const { scheduler } = this.#runtime
    return queryBlock(this.#nodes, this.#query, (value) =>
      this.#age.assess(value, scheduler.now()),
    ).pipe(
      map(({ value, isLate }) => {
        const nowMs = scheduler.now()
        const readMs = readMsOf(value, isLate, nowMs)
        const prices = pythEvents(value, readMs, (kind, detail) => this.#note(kind, detail))
        const listed = listedFeeds(prices, this.#context.assets())
        return [...this.#statusOf(isLate, prices.length, listed, nowMs), ...prices]
      }),
    )
  }

  #statusOf(
    isLate: boolean,
    priced: number,
    { feeds, missing }: ReturnType<typeof listedFeeds>,
    nowMs: number,
  ): Batch {
    if (isLate) return this.#status.set('degraded', 'no new blocks on Monad', nowMs)
    if (priced === 0) return this.#status.set('down', 'no feed has a plausible price', nowMs)
    if (missing > MISSING_SHARE_MAX * feeds)
      return this.#status.set('degraded', `${missing} of ${feeds} feeds missing`, nowMs)
    return this.#status.set('up', '', nowMs)
  }

  #note(kind: string, detail: string): void {
    this.#context.onNotice({ source: 'pyth-evm', kind, detail })
  }
}
