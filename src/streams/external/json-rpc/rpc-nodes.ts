import type { Observable } from 'rxjs'
import { catchError, concatMap, defer, map, of, throwError, timeout } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { ExternalRuntime, HttpReply } from '../../runtime.ts'
import { isForeignObject, ownMember, parseForeign } from '../foreign-json.ts'

/** What is to be thought of one node's answer. */
export type Judged<Answer> =
  | { readonly verdict: 'good'; readonly answer: Answer }
  /** Only to be used where no node has a newer one. */
  | { readonly verdict: 'late'; readonly answer: Answer; readonly asOfMs: number }
  | { readonly verdict: 'bad'; readonly reason: string; readonly restMs?: number }

export type Told<Answer> = { readonly answer: Answer; readonly isLate: boolean }

type Best<Answer> = { readonly answer: Answer; readonly asOfMs: number }

type Question<Answer> = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly judge: (result: unknown) => Judged<Answer>
}

const REPLY_MS_MAX = 4_000
/** A node that failed is left alone so long, while another one answers. */
const REST_MS = { minMs: 10_000, maxMs: 60_000 }
/** All calls of one round have some 30 kB. */
const REPLY_CHARACTERS_MAX = 1024 * 1024
const OK = 200
/** Of what a node said about itself, in a log. */
const DETAIL_CHARACTERS_MAX = 120

/**
 * The JSON-RPC nodes of one chain, in order of preference. Each question goes to the first that is not
 * resting, and on to the next when it fails, is late or is mistaken. When all rest, the one that has rested
 * most is asked.
 */
export class RpcNodes {
  readonly #nodes: readonly { readonly url: string; restUntilMs: number; failures: number }[]
  readonly #runtime: ExternalRuntime
  readonly #onFailure: (detail: string) => void
  #id = 0

  constructor(
    urls: readonly string[],
    runtime: ExternalRuntime,
    onFailure: (detail: string) => void,
  ) {
    this.#nodes = urls.map((url) => ({ url, restUntilMs: Number.NEGATIVE_INFINITY, failures: 0 }))
    this.#runtime = runtime
    this.#onFailure = onFailure
  }

  /** Emits one answer, or fails with an OperatingError when no node has one. */
  ask<Answer>(question: Question<Answer>): Observable<Told<Answer>> {
    return defer(() => this.#askNext(this.#order(), question, null, 'no node'))
  }

  #askNext<Answer>(
    order: readonly number[],
    question: Question<Answer>,
    best: Best<Answer> | null,
    lastReason: string,
  ): Observable<Told<Answer>> {
    const [index, ...rest] = order
    if (index === undefined) {
      if (best !== null) return of({ answer: best.answer, isLate: true })
      return throwError(() => new OperatingError('node_failed', lastReason))
    }
    return this.#askOne(index, question).pipe(
      concatMap((judged) => {
        if (judged.verdict === 'good') {
          this.#succeeded(index)
          return of({ answer: judged.answer, isLate: false })
        }
        const reason = judged.verdict === 'late' ? 'late' : judged.reason
        this.#failed(index, reason, judged.verdict === 'bad' ? judged.restMs : undefined)
        const isNewest =
          judged.verdict === 'late' && judged.asOfMs > (best?.asOfMs ?? Number.NEGATIVE_INFINITY)
        return this.#askNext(rest, question, isNewest ? judged : best, reason)
      }),
    )
  }

  #askOne<Answer>(
    index: number,
    { method, params, judge }: Question<Answer>,
  ): Observable<Judged<Answer>> {
    const { scheduler, post } = this.#runtime
    this.#id += 1
    const request = { jsonrpc: '2.0', id: this.#id, method, params }
    const late = () => new OperatingError('request_timeout', `${method} took too long`)
    return post(this.#nodes[index]?.url ?? '', request).pipe(
      timeout({ first: REPLY_MS_MAX, scheduler, with: () => throwError(late) }),
      map((reply): Judged<Answer> => {
        const { result, reason } = resultOf(reply, request.id)
        return reason === null ? judge(result) : { verdict: 'bad', reason }
      }),
      catchError((cause: unknown) =>
        of<Judged<Answer>>({
          verdict: 'bad',
          reason: cause instanceof OperatingError ? cause.code : 'request_failed',
        }),
      ),
    )
  }

  #order(): readonly number[] {
    const nowMs = this.#runtime.scheduler.now()
    const awake = this.#nodes.flatMap(({ restUntilMs }, index) =>
      restUntilMs <= nowMs ? [index] : [],
    )
    if (awake.length > 0) return awake
    const untilMs = this.#nodes.map(({ restUntilMs }) => restUntilMs)
    return untilMs.length === 0 ? [] : [untilMs.indexOf(Math.min(...untilMs))]
  }

  #succeeded(index: number): void {
    const node = this.#nodes[index]
    if (node === undefined) return
    node.failures = 0
    node.restUntilMs = Number.NEGATIVE_INFINITY
  }

  #failed(index: number, reason: string, restMs?: number): void {
    const node = this.#nodes[index]
    if (node === undefined) return
    const { scheduler, random } = this.#runtime
    node.failures += 1
    node.restUntilMs = scheduler.now() + (restMs ?? backOffMs(REST_MS, node.failures, random()))
    this.#onFailure(`${hostOf(node.url)}: ${reason}`)
  }
}

/** `reason` is null where the node answered with a result. */
function resultOf(
  { status, body }: HttpReply,
  id: number,
): { readonly result: unknown; readonly reason: string | null } {
  const failed = (reason: string) => ({ result: undefined, reason })
  const reply = parseForeign(body, REPLY_CHARACTERS_MAX)
  const error = ownMember(reply, 'error')
  if (isForeignObject(error)) {
    const told = `error ${String(ownMember(error, 'code'))}: ${String(ownMember(error, 'message'))}`
    return failed(told.slice(0, DETAIL_CHARACTERS_MAX))
  }
  if (status !== OK) return failed(`HTTP ${status}`)
  const result = ownMember(reply, 'result')
  const isReply = ownMember(reply, 'id') === id && result !== undefined
  return isReply ? { result, reason: null } : failed('not JSON-RPC')
}

/** An operator's URL may hold a key: it is not for a log. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}
