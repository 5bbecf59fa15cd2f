import type { Observable } from 'rxjs'
import { catchError, concatMap, defer, map, of, throwError } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import { hostOf } from '../../../domain/host-of.ts'
import type { ExternalRuntime, HttpReply } from '../../runtime.ts'
import { publicReason, withReplyTimeout } from '../retry.ts'
import { isUntrustedObject, ownMember, parseUntrusted } from '../untrusted-json.ts'

/** The assessment of one node's result. */
export type Assessed<Value> =
  | { readonly quality: 'current'; readonly value: Value }
  /** Used only if no other node has a newer one. */
  | { readonly quality: 'late'; readonly value: Value; readonly asOfMs: number }
  | { readonly quality: 'invalid'; readonly reason: string; readonly pauseMs?: number }

export type NodeAnswer<Value> = { readonly value: Value; readonly isLate: boolean }

type RpcRequest<Value> = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly assess: (result: unknown) => Assessed<Value>
}

type Latest<Value> = { readonly value: Value; readonly asOfMs: number }

const REPLY_MS_MAX = 4_000
/** A node that failed is skipped for this long while another one answers. */
const PAUSE = { minMs: 10_000, maxMs: 60_000 }
/** All calls of one round are some 30 kB. */
const REPLY_CHARACTERS_MAX = 1024 * 1024
const OK = 200
const ERROR_CHARACTERS_MAX = 120

/**
 * The JSON-RPC nodes of one chain, in order of preference. A request goes to the first node that is not
 * paused, and on to the next one after a failed, late or invalid answer. If all nodes are paused, the one
 * whose pause ends first is asked.
 */
export class RpcNodes {
  readonly #nodes: readonly { readonly url: string; pausedUntilMs: number; failures: number }[]
  readonly #runtime: ExternalRuntime
  readonly #onFailure: (detail: string) => void
  #id = 0

  constructor(
    urls: readonly string[],
    runtime: ExternalRuntime,
    onFailure: (detail: string) => void,
  ) {
    this.#nodes = urls.map((url) => ({ url, pausedUntilMs: Number.NEGATIVE_INFINITY, failures: 0 }))
    this.#runtime = runtime
    this.#onFailure = onFailure
  }

  /** Emits one answer, or fails with an OperatingError if no node has one. */
  call<Value>(request: RpcRequest<Value>): Observable<NodeAnswer<Value>> {
    return defer(() => this.#callNext(this.#order(), request, null, 'no node configured'))
  }

  #callNext<Value>(
    order: readonly number[],
    request: RpcRequest<Value>,
    latest: Latest<Value> | null,
    lastReason: string,
  ): Observable<NodeAnswer<Value>> {
    const [index, ...others] = order
    if (index === undefined) {
      if (latest !== null) return of({ value: latest.value, isLate: true })
      return throwError(() => new OperatingError('node_failed', lastReason))
    }
    return this.#callOne(index, request).pipe(
      concatMap((assessed) => {
        if (assessed.quality === 'current') {
          this.#succeeded(index)
          return of({ value: assessed.value, isLate: false })
        }
        const isLate = assessed.quality === 'late'
        const reason = isLate ? 'its newest block is late' : assessed.reason
        this.#failed(index, reason, isLate ? undefined : assessed.pauseMs)
        const isNewest = isLate && assessed.asOfMs > (latest?.asOfMs ?? Number.NEGATIVE_INFINITY)
        return this.#callNext(others, request, isNewest ? assessed : latest, reason)
      }),
    )
  }

  #callOne<Value>(
    index: number,
    { method, params, assess }: RpcRequest<Value>,
  ): Observable<Assessed<Value>> {
    const { scheduler, post } = this.#runtime
    this.#id += 1
    const request = { jsonrpc: '2.0', id: this.#id, method, params }
    const reply = post(this.#nodes[index]?.url ?? '', request)
    return withReplyTimeout(reply, REPLY_MS_MAX, scheduler).pipe(
      map((reply) => assess(resultOf(reply, request.id))),
      catchError((cause: unknown) => {
        const reason = cause instanceof RpcError ? cause.message : publicReason(cause)
        return of<Assessed<Value>>({ quality: 'invalid', reason })
      }),
    )
  }

  #order(): readonly number[] {
    const nowMs = this.#runtime.scheduler.now()
    const ready = this.#nodes.flatMap(({ pausedUntilMs }, index) =>
      pausedUntilMs <= nowMs ? [index] : [],
    )
    if (ready.length > 0) return ready
    const untilMs = this.#nodes.map(({ pausedUntilMs }) => pausedUntilMs)
    return untilMs.length === 0 ? [] : [untilMs.indexOf(Math.min(...untilMs))]
  }

  #succeeded(index: number): void {
    const node = this.#nodes[index]
    if (node === undefined) return
    node.failures = 0
    node.pausedUntilMs = Number.NEGATIVE_INFINITY
  }

  #failed(index: number, reason: string, pauseMs?: number): void {
    const node = this.#nodes[index]
    if (node === undefined) return
    const { scheduler, random } = this.#runtime
    node.failures += 1
    node.pausedUntilMs = scheduler.now() + (pauseMs ?? backOffMs(PAUSE, node.failures, random()))
    this.#onFailure(`${hostOf(node.url)}: ${reason}`)
  }
}

/** A node answered, but without a result. */
class RpcError extends Error {}

function resultOf({ status, body }: HttpReply, id: number): unknown {
  const reply = parseUntrusted(body, REPLY_CHARACTERS_MAX)
  const error = ownMember(reply, 'error')
  if (isUntrustedObject(error)) {
    const text = `error ${String(ownMember(error, 'code'))}: ${String(ownMember(error, 'message'))}`
    throw new RpcError(text.slice(0, ERROR_CHARACTERS_MAX))
  }
  if (status !== OK) throw new RpcError(`HTTP ${status}`)
  const result = ownMember(reply, 'result')
  if (ownMember(reply, 'id') !== id || result === undefined)
    throw new RpcError('the reply is not JSON-RPC')
  return result
}
