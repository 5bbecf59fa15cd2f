import { map, NEVER, throwError, timer, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { OperatingError } from '../../../domain/errors.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import type { Assessed } from './rpc-nodes.ts'
import { RpcNodes } from './rpc-nodes.ts'

type Reply = { readonly status?: number; readonly body: unknown } | 'refused' | 'unanswered'
const result = (value: unknown): Reply => ({ body: { result: value } })

describe('fail-over', () => {
  test('the first node is asked while it answers', () => {
    const nodes = new ScriptedNodes({ a: [result(1), result(2)], b: [] })
    expect([nodes.ask(), nodes.ask()]).toEqual([1, 2])
    expect(nodes.asked).toEqual(['a', 'a'])
  })

  test.each<[string, Reply]>([
    ['refuses the connection', 'refused'],
    ['does not reply within four seconds', 'unanswered'],
    ['answers with an error of HTTP', { status: 429, body: 'slow down' }],
    ['answers with an error of JSON-RPC', { body: { error: { code: -32005, message: 'limit' } } }],
    [
      'answers with an error of JSON-RPC as HTTP 400',
      { status: 400, body: { error: { code: 1 } } },
    ],
    ['answers with text', { body: '<html>' }],
    ['answers null', { body: null }],
    ['answers with another id', { body: { id: 99, result: 7 } }],
    ['answers with an invalid value', result('bad')],
  ])('a node that %s is skipped and paused', (_, reply) => {
    const nodes = new ScriptedNodes({ a: [reply], b: [result(5), result(6)] })
    expect([nodes.ask(), nodes.ask()]).toEqual([5, 6])
    expect(nodes.asked).toEqual(['a', 'b', 'b'])
    expect(nodes.notices).toHaveLength(1)
  })

  test('a paused node is asked again after its pause and is preferred again', () => {
    const nodes = new ScriptedNodes({ a: ['refused', result(3), result(4)], b: [result(5)] })
    nodes.ask()
    nodes.advance(60_000)
    expect([nodes.ask(), nodes.ask()]).toEqual([3, 4])
    expect(nodes.asked).toEqual(['a', 'b', 'a', 'a'])
  })

  test('if all nodes are paused, the one whose pause ends first is asked', () => {
    const nodes = new ScriptedNodes({ a: ['refused', result(1)], b: ['refused', 'refused'] })
    expect(nodes.ask()).toEqual('node_failed')
    expect(nodes.ask()).toEqual(1)
    expect(nodes.asked).toEqual(['a', 'b', 'a'])
  })

  test('without nodes the call fails', () => {
    expect(new ScriptedNodes({}).ask()).toBe('node_failed')
  })
})

describe('late answers', () => {
  test('the newest is used if no node has a current one', () => {
    const nodes = new ScriptedNodes({
      a: [result({ late: 10 })],
      b: [result({ late: 30 })],
      c: [result({ late: 20 })],
    })
    expect(nodes.ask()).toEqual({ late: 30 })
  })

  test('a current answer is preferred', () => {
    const nodes = new ScriptedNodes({ a: [result({ late: 10 })], b: [result(2)] })
    expect(nodes.ask()).toEqual(2)
  })
})

test('a notice names the host of a node but not its path, which may hold a key', () => {
  const nodes = new ScriptedNodes({ 'https://node.test/v2/secret': ['refused'] })
  nodes.ask()
  expect(nodes.notices).toEqual(['node.test: refused'])
})

class ScriptedNodes {
  readonly asked: string[] = []
  readonly notices: string[] = []
  readonly #scheduler = new VirtualTimeScheduler()
  readonly #nodes: RpcNodes

  constructor(script: Readonly<Record<string, Reply[]>>) {
    const left = new Map(Object.entries(script).map(([url, replies]) => [url, [...replies]]))
    const runtime = {
      scheduler: this.#scheduler,
      random: () => 0.5,
      post: (url: string, body: unknown) => {
        this.asked.push(url)
        const reply = left.get(url)?.shift() ?? 'refused'
        return replyOf(reply, (body as { id: number }).id, this.#scheduler)
      },
    } as unknown as ExternalRuntime
    this.#nodes = new RpcNodes([...left.keys()], runtime, (detail) => this.notices.push(detail))
  }

  /** The value, or the code of the error. */
  ask(): unknown {
    const received: unknown[] = []
    this.#nodes.call({ method: 'eth_test', params: [], assess }).subscribe({
      next: ({ value }) => received.push(value),
      error: (cause) => received.push(cause instanceof OperatingError ? cause.code : cause),
    })
    this.advance(5_000)
    expect(received).toHaveLength(1)
    return received[0]
  }

  advance(byMs: number): void {
    this.#scheduler.maxFrames = this.#scheduler.frame + byMs
    this.#scheduler.flush()
    this.#scheduler.frame = this.#scheduler.maxFrames
  }
}

function assess(value: unknown): Assessed<unknown> {
  if (value === 'bad') return { quality: 'invalid', reason: 'bad' }
  if (typeof value === 'object' && value !== null && 'late' in value)
    return { quality: 'late', value, asOfMs: Number(value.late) }
  return { quality: 'current', value }
}

function replyOf(reply: Reply, id: number, scheduler: VirtualTimeScheduler) {
  if (reply === 'unanswered') return NEVER
  if (reply === 'refused') return throwError(() => new OperatingError('refused', 'no connection'))
  const { status = 200, body } = reply
  const message = typeof body === 'object' && body !== null ? { jsonrpc: '2.0', id, ...body } : body
  return timer(10, scheduler).pipe(map(() => ({ status, body: JSON.stringify(message) })))
}
