import type { Observable } from 'rxjs'
import { concat, defer, map, of } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { polled } from '../json-rpc/polled.ts'
import type { Judged } from '../json-rpc/rpc-nodes.ts'
import { RpcNodes } from '../json-rpc/rpc-nodes.ts'
import { isSaneTime } from '../sane.ts'
import type { Source, SourceAddress, SourceContext } from '../source.ts'
import { ToldStatus } from '../told-status.ts'
import { MULTICALL3 } from './contract-views.ts'
import { evmChains } from './evm-chains.ts'
import { pythEvents } from './pyth-events.ts'
import { pythFeeds } from './pyth-feeds.ts'
import type { PythWord } from './pyth-reading.ts'
import { PythReading } from './pyth-reading.ts'
import { hexOf } from './rpc-values.ts'

const STALE_MS = 60_000
const STAGGER_MS = 1_000
const WRONG_CHAIN_REST_MS = 3_600_000
/** The source lacks a part where more than this share of its feeds say nothing. */
const MISSING_SHARE_MAX = 0.5

/** What Pyth's own pusher wrote into its contracts on Monad, which anybody may read without a key. */
export const pythEvm: Source = (address, context, runtime) =>
  defer(() => {
    const watch = new PythWatch(address, context, runtime)
    return concat(
      of(watch.failed('not asked yet')),
      polled({
        runtime,
        offsetMs: evmChains.length * STAGGER_MS,
        round: () => watch.round(),
        failed: (cause) => watch.failed(cause instanceof Error ? cause.message : 'no node answers'),
      }),
    )
  })

class PythWatch {
  readonly #runtime: ExternalRuntime
  readonly #context: SourceContext
  readonly #nodes: RpcNodes
  readonly #status = new ToldStatus('pyth-evm')
  readonly #reading = new PythReading()

  constructor({ urls }: SourceAddress, context: SourceContext, runtime: ExternalRuntime) {
    this.#runtime = runtime
    this.#context = context
    this.#nodes = new RpcNodes(urls, runtime, (detail) => this.#note('node_failed', detail))
  }

  failed(reason: string): Batch {
    return this.#status.tell('down', reason, this.#runtime.scheduler.now())
  }

  round(): Observable<Batch> {
    const params = [{ to: MULTICALL3, data: this.#reading.data }, 'latest']
    const judge = (result: unknown) => this.#judge(result)
    return this.#nodes.ask({ method: 'eth_call', params, judge }).pipe(
      map(({ answer, isLate }) => {
        const nowMs = this.#runtime.scheduler.now()
        const prices = pythEvents(answer, nowMs, (kind, detail) => this.#note(kind, detail))
        const missing = 1 - prices.length / pythFeeds.length
        return [...this.#statusOf(isLate, missing, nowMs), ...prices]
      }),
    )
  }

  #statusOf(isLate: boolean, missing: number, nowMs: number): Batch {
    if (isLate) return this.#status.tell('degraded', 'no new blocks', nowMs)
    if (missing === 1) return this.#status.tell('down', 'no feed tells a price', nowMs)
    if (missing > MISSING_SHARE_MAX)
      return this.#status.tell('degraded', 'most feeds are missing', nowMs)
    return this.#status.tell('up', '', nowMs)
  }

  #judge(result: unknown): Judged<PythWord> {
    const nowMs = this.#runtime.scheduler.now()
    const data = hexOf(result)
    const word = data === null ? 'undecodable' : this.#reading.decode(data)
    if (word === 'wrong chain') return { verdict: 'bad', reason: word, restMs: WRONG_CHAIN_REST_MS }
    if (word === 'undecodable') return { verdict: 'bad', reason: word }
    const { blockTimeMs } = word
    if (!isSaneTime(blockTimeMs, nowMs)) return { verdict: 'bad', reason: 'block of the future' }
    if (blockTimeMs < nowMs - STALE_MS)
      return { verdict: 'late', answer: word, asOfMs: blockTimeMs }
    return { verdict: 'good', answer: word }
  }

  #note(kind: string, detail: string): void {
    this.#context.onNotice({ source: 'pyth-evm', kind, detail })
  }
}
