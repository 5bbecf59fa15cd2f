import { randomUUID } from 'node:crypto'
import { DefaultExecutionEventBusManager } from '@a2a-js/sdk/server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ExactEvmPayment } from '../../payment/evm/exact-evm.ts'
import { exactEvm } from '../../payment/evm/exact-evm.ts'
import { base } from '../../payment/evm/networks.ts'
import { SqliteLedger } from '../../payment/ledger/sqlite-ledger.ts'
import type { Settlement } from '../../payment/payment.ts'
import { payments } from '../../payment/plugin.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../payment/testing/buyer.ts'
import { newSecret } from '../../payment/testing/new-secret.ts'
import { gatewayFixture } from '../testing/gateway-fixture.ts'
import { pulseLike } from '../testing/pulse-like.ts'

const PAY_TO = '0x00000000000000000000000000000000000000A1'
const V0_1 = 'https://github.com/google-a2a/a2a-x402/v0.1'
const V0_2 = 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2'

type Task = {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message: Message }
  readonly history?: readonly Message[]
  readonly artifacts?: readonly unknown[]
}
type Message = {
  readonly messageId: string
  readonly metadata?: Readonly<Record<string, unknown>>
}
type Sent = Readonly<Record<string, unknown>>
type Reply = {
  readonly result?: Task & { readonly task?: Task }
  readonly error?: { readonly code: number; readonly message: string }
}

/** The gateway with its real payments; whether one is settled is up to `settle`. */
function agent(settle: (payment: ExactEvmPayment) => Promise<Settlement> = refusing) {
  const ledger = new SqliteLedger(':memory:')
  const method = exactEvm({
    network: base,
    payTo: PAY_TO,
    facilitator: {
      verify: async () => ({ kind: 'valid' }),
      settle,
      outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }),
    },
  })
  const { app, clock } = gatewayFixture({
    payment: async (paid) => {
      const limits = { failedPaymentsPerAddressPerMinute: 1_000, identicalFailuresPerMinute: 1_000 }
      const publicUrl = 'https://api.example.com'
      await paid.register(payments, {
        methods: [method],
        ledger,
        clock,
        publicUrl,
        limits,
        newSecret,
      })
    },
    discovery: { publicUrl: 'https://api.example.com', waysToPay: [method] },
  })
  onTestFinished(async () => {
    await app.close()
    await ledger.close()
  })

  const post = (body: Sent, headers: Readonly<Record<string, string>> = {}) =>
    app.inject({
      method: 'POST',
      url: '/a2a',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      payload: { jsonrpc: '2.0', id: 7, ...body },
    })
  const call = async (method: string, params: Sent, headers?: Readonly<Record<string, string>>) =>
    (await post({ method, params }, headers)).json() as Reply
  const send = (message: Sent = {}, params: Sent = {}) =>
    call('SendMessage', { message: asked(message), ...params })
  const quoted = async (message?: Sent, params?: Sent) => taskOf(await send(message, params))
  const paid = async (choices: { readonly validBeforeSeconds?: bigint } = {}) => ({
    'x402.payment.status': 'payment-submitted',
    'x402.payment.payload': await signedPayload(newBuyer(), {
      amount: pulseLike.priceUsdcAtomic,
      payTo: PAY_TO,
      nowMs: clock.nowMs(),
      ...choices,
    }),
  })
  return { app, post, call, send, quoted, paid }
}

const refusing = async (): Promise<Settlement> => ({
  kind: 'rejected',
  reason: 'insufficient_funds',
})

function asked(more: Sent = {}): Sent {
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'pulse BTC' }], ...more }
}

function taskOf({ result, error }: Reply): Task {
  if (result?.task === undefined) throw new Error(`no task: ${JSON.stringify(error)}`)
  return result.task
}

const metadataOf = ({ status }: Task) => status.message.metadata ?? {}

describe('state of callers', () => {
  test('a task keeps its last short messages without payments', async () => {
    const { call, send, quoted, paid } = agent()
    const { id: taskId } = await quoted()
    for (const parts of [[{ text: 'x'.repeat(60_000) }], ...Array(6).fill([{ text: 'well?' }])])
      await send({ taskId, parts, metadata: await paid() })
    const { result } = await call('GetTask', { id: taskId })
    expect(result?.history).toHaveLength(4)
    expect(JSON.stringify(result?.history).length).toBeLessThan(8_000)
    expect(JSON.stringify(result?.history)).not.toContain('signature')
  })

  test('a task takes a limited number of messages and reports that the last one was not processed', async () => {
    const { call, send, quoted } = agent()
    const { id: taskId } = await quoted()
    for (let count = 0; count < 200; count += 1) await send({ taskId })
    const { result } = await call('GetTask', { id: taskId })
    expect(result?.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('not processed') }] },
    })
    expect(result?.history?.length).toBeLessThanOrEqual(4)
  })

  test('oversized names are refused or not kept', async () => {
    const { send, quoted } = agent()
    expect((await send({ contextId: 'x'.repeat(257) })).error?.code).toBe(-32602)
    const long = await quoted({
      parts: [{ data: { analysis: 'pulse', coin: 'B'.repeat(50_000) } }],
    })
    expect(long.status.state).toBe('TASK_STATE_REJECTED')
    expect(JSON.stringify({ ...long, history: [] }).length).toBeLessThan(2_000)
  })

  test.each([
    ['a contextId that is no string', { contextId: { long: 'x'.repeat(9_000) } }],
    ['a text part without text', { parts: [{ kind: 'text' }] }],
    ['a text part with a number', { parts: [{ kind: 'text', text: 5 }] }],
    ['a data part without data', { parts: [{ kind: 'data' }] }],
  ])('a message of version 0.3 with %s is refused', async (_what, more) => {
    const error = vi.spyOn(console, 'error')
    const { call } = agent()
    const parts = [{ kind: 'text', text: 'pulse BTC' }]
    const message = { messageId: randomUUID(), role: 'user', parts, ...more }
    const reply = await call('message/send', { message }, { 'a2a-version': '0.3' })
    // Before the analysis is requested; a part without data would fail after it.
    expect(reply.error).toMatchObject({ code: -32602, message: expect.stringMatching(/a string/) })
    expect(error).not.toHaveBeenCalled()
  })

  test('one address can flush its own tasks, and nobody else’s', async () => {
    const { app, call, quoted } = agent()
    const { id } = await quoted()
    const message = { ...asked(), parts: [{ text: 'hello' }] }
    const flood = async (remoteAddress: string, count: number) => {
      for (let sent = 0; sent < count; sent += 1)
        await app.inject({
          method: 'POST',
          url: '/a2a',
          remoteAddress,
          headers: { 'a2a-version': '1.0' },
          payload: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
        })
    }
    await flood('203.0.113.9', 1_100)
    expect((await call('GetTask', { id })).result?.id).toBe(id)
    await flood('127.0.0.1', 100)
    expect((await call('GetTask', { id })).error?.code).toBe(-32001)
  })

  test('an expired task is refused with what to do next', async () => {
    const { send, paid } = agent()
    const { error } = await send({ taskId: randomUUID(), metadata: await paid() })
    expect(error?.code).toBe(-32001)
    expect(error?.message).toContain('without taskId')
  })

  test('a task that is read without its history keeps it', async () => {
    const { call, quoted } = agent()
    const { id } = await quoted()
    await call('GetTask', { id, historyLength: 0 })
    expect((await call('GetTask', { id })).result?.history).toHaveLength(1)
  })

  test('an unpaid quote leaves no event bus, with any tenant', async () => {
    const opened = vi.spyOn(DefaultExecutionEventBusManager.prototype, 'createOrGetByTaskId')
    const { quoted } = agent()
    for (let count = 0; count < 200; count += 1) await quoted({}, { tenant: `tenant-${count}` })
    expect(opened).toHaveBeenCalledTimes(200)
    const [buses] = opened.mock.contexts as DefaultExecutionEventBusManager[]
    for (const [taskId, context] of opened.mock.calls) {
      expect(context?.tenant).toBeUndefined()
      expect(buses?.getByTaskId(taskId, context)).toBeUndefined()
    }
  })

  test('a quoted task can be canceled', async () => {
    const { call, quoted } = agent()
    const { id } = await quoted()
    expect((await call('CancelTask', { id })).result?.status.state).toBe('TASK_STATE_CANCELED')
  })

  test('referenced tasks are not looked up', async () => {
    const warn = vi.spyOn(console, 'warn')
    const { quoted } = agent()
    await quoted({ referenceTaskIds: ['a', 'b'] })
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('concurrent messages of one task', () => {
  /** A task whose payment is being settled until `release`. */
  async function settling() {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const gateway = agent(async () => {
      begin()
      await released
      return { kind: 'settled', transaction: `0x${'5'.repeat(64)}` }
    })
    const { id: taskId } = await gateway.quoted()
    const paying = gateway.send({ taskId, metadata: await gateway.paid() })
    await begun
    return { ...gateway, taskId, paying, release }
  }

  test('do not withhold the answer from the payer', async () => {
    const { taskId, paying, release, ...gateway } = await settling()
    const second = gateway.send({ taskId })
    // Long enough for a message that nothing holds up to be answered.
    const others = Array.from({ length: 20 }, () => gateway.send())
    await Promise.race([second, Promise.all(others)])
    release()
    const done = taskOf(await paying)
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(done.artifacts).toHaveLength(1)
    const { result } = await gateway.call('GetTask', { id: taskId })
    expect(result?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(result?.artifacts).toEqual(done.artifacts)
    expect((await second).error?.code, 'there is nothing more to say to it').toBe(-32004)
  })

  test('at most eight are pending', async () => {
    const { taskId, paying, release, send } = await settling()
    const replies = Array.from({ length: 8 }, () => send({ taskId }))
    expect((await Promise.race(replies)).error?.message).toContain('may be pending')
    release()
    expect(taskOf(await paying).status.state).toBe('TASK_STATE_COMPLETED')
    const told = (await Promise.all(replies)).map(({ error }) => error?.message)
    expect(told.filter((message) => message?.includes('terminal'))).toHaveLength(7)
  })
})

describe('the extension for payments', () => {
  test('reports a refused payment as failed and lists all of them', async () => {
    const { quoted, paid } = agent()
    const { id: taskId } = await quoted()
    await quoted({ taskId, metadata: await paid() })
    const task = await quoted({ taskId, metadata: await paid({ validBeforeSeconds: 1n }) })
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const receipt = { success: false, network: 'eip155:8453', transaction: '' }
    expect(metadataOf(task)).toMatchObject({
      'x402.payment.status': 'payment-failed',
      'x402.payment.error': 'EXPIRED_PAYMENT',
      'x402.payment.required': { x402Version: 2 },
      'x402.payment.receipts': [
        { ...receipt, errorReason: 'insufficient_funds' },
        { ...receipt, errorReason: expect.stringContaining('valid_before') },
      ],
    })
  })

  test('reports an invalid payment as failed', async () => {
    const { quoted } = agent()
    const { id: taskId } = await quoted()
    const nonsense = { accepted: null, network: { toString: 1 } }
    const task = await quoted({ taskId, metadata: { 'x402.payment.payload': nonsense } })
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(metadataOf(task)).toMatchObject({
      'x402.payment.status': 'payment-failed',
      'x402.payment.receipts': [{ success: false, network: '', transaction: '' }],
    })
  })

  test.each([['eyJ'], ['{"x402Version":2}'], [5], [[]]])(
    'reports the payment %j, which is no payment object, as failed',
    async (payment) => {
      const { quoted } = agent()
      const { id: taskId } = await quoted()
      const metadata = {
        'x402.payment.status': 'payment-submitted',
        'x402.payment.payload': payment,
      }
      const task = await quoted({ taskId, metadata })
      expect(task.status.state).toBe('TASK_STATE_FAILED')
      expect(metadataOf(task)).toMatchObject({
        'x402.payment.status': 'payment-failed',
        problem: { code: 'malformed_payment', charged: false },
      })
    },
  )

  test('takes a payment in its base64 form, and keeps it out of the history', async () => {
    const { call, quoted, paid } = agent(async () => ({ kind: 'settled', transaction: '0xabc' }))
    const { id: taskId } = await quoted()
    const payment = encodedPayment((await paid())['x402.payment.payload'])
    const task = await quoted({ taskId, metadata: { 'x402.payment.payload': payment } })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const { result } = await call('GetTask', { id: taskId })
    expect(JSON.stringify(result)).not.toContain(payment)
  })

  test('names the missing coin of a message', async () => {
    const { send } = agent()
    const task = taskOf(await send({ parts: [{ text: 'pulse' }] }))
    expect(metadataOf(task)).toMatchObject({ problem: { code: 'invalid_coin', param: 'coin' } })
  })

  test('ends a task whose terms the client declines', async () => {
    const { quoted } = agent()
    const { id: taskId } = await quoted()
    const metadata = { 'x402.payment.status': 'payment-rejected' }
    const task = await quoted({ taskId, metadata })
    expect(task.status.state).toBe('TASK_STATE_CANCELED')
    expect(metadataOf(task)).toEqual({ ...metadata, 'x402.payment.receipts': [] })
  })

  test.each([
    ['a2a-extensions', `${V0_1}, https://example.com/other`, V0_1],
    ['x-a2a-extensions', `${V0_2},${V0_1}`, `${V0_2},${V0_1}`],
  ])('is activated by %s', async (name, value, echoed) => {
    const { post } = agent()
    const request = { method: 'SendMessage', params: { message: asked() } }
    expect((await post(request, { [name]: value })).headers[name]).toBe(echoed)
    expect((await post(request)).headers).not.toHaveProperty(name)
  })
})

test('a free agent activates no extension and answers without a quote', async () => {
  const { app } = gatewayFixture()
  onTestFinished(() => app.close())
  const response = await app.inject({
    method: 'POST',
    url: '/a2a',
    headers: { 'a2a-version': '1.0', 'a2a-extensions': V0_1 },
    payload: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: asked() },
    }),
  })
  expect(response.headers).not.toHaveProperty('a2a-extensions')
  expect(taskOf(response.json()).status.state).toBe('TASK_STATE_COMPLETED')
})

describe('an invalid request', () => {
  const methods = {
    '1.0': ['SendMessage', 'SendStreamingMessage', 'GetTask', 'CancelTask', 'ListTasks'],
    '0.3': [
      ...['message/send', 'message/stream', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe'],
      ...['tasks/pushNotificationConfig/set', 'tasks/pushNotificationConfig/get'],
    ],
  }
  const message = { messageId: 'm', role: 'user', kind: 'message', parts: [] }
  const invalid = [
    ...[null, [], 'x', 5, {}, { id: 5 }, { id: null }, { id: {} }, { id: ['a'] }, { message: 5 }],
    ...[5, 'x', [null], [5], [['a']], [{}], [{ kind: 'file' }], [{ kind: 'data', data: 5 }]].map(
      (parts) => ({ message: { ...message, parts } }),
    ),
    ...[
      ...['messageId', 'role', 'contextId', 'taskId', 'metadata', 'extensions', 'referenceTaskIds'],
    ].flatMap((name) =>
      [5, null, {}, [5]].map((value) => ({ message: { ...message, [name]: value } })),
    ),
    ...[5, null, []].map((configuration) => ({ message, configuration })),
    ...['acceptedOutputModes', 'pushNotificationConfig', 'historyLength', 'blocking'].flatMap(
      (name) => [5, null, {}, [5]].map((value) => ({ message, configuration: { [name]: value } })),
    ),
    { taskId: 't', pushNotificationConfig: 5 },
  ]

  test.each(
    Object.entries(methods).flatMap(([version, names]) =>
      names.map((name) => [name, version] as const),
    ),
  )('%s of version %s is no internal error', async (method, version) => {
    const { post } = agent()
    for (const params of invalid) {
      const reply = (await post({ method, params }, { 'a2a-version': version })).json() as Reply
      expect(reply.error?.code, JSON.stringify(params)).not.toBe(-32603)
    }
  })

  test.each([
    ['GetTask', '1.0'],
    ['CancelTask', '1.0'],
    ['tasks/get', '0.3'],
    ['tasks/cancel', '0.3'],
  ])('%s of a task that is no text has invalid parameters', async (method, version) => {
    const { call } = agent()
    for (const id of [5, {}, ['a'], true]) {
      const { error } = await call(method, { id }, { 'a2a-version': version })
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('id') })
    }
  })

  test.each(['1.0', '0.3'])(
    'an unknown method of version %s needs no parameters',
    async (version) => {
      const { post } = agent()
      const headers = { 'a2a-version': version }
      expect((await post({ method: 'nonsense' }, headers)).json()).toMatchObject({
        error: { code: -32601 },
      })
      // Its parameters are optional.
      if (version === '1.0')
        expect((await post({ method: 'ListTasks' }, headers)).json()).toHaveProperty('result')
    },
  )

  test.each(['1.0', '0.3'])('without a method or with another id, version %s', async (version) => {
    const { post } = agent()
    const headers = { 'a2a-version': version }
    for (const sent of [{}, { method: 5 }, { method: null }]) {
      const response = await post(sent, headers)
      expect([response.statusCode, response.json()]).toMatchObject([
        400,
        { id: 7, error: { code: -32600 } },
      ])
    }
    for (const id of [{}, [], true, 1.5])
      expect(
        (await post({ id, method: 'GetTask', params: { id: 'x' } }, headers)).json(),
      ).toMatchObject({ id: null, error: { code: -32600 } })
  })
})

describe('unsupported methods', () => {
  test.each(['SendStreamingMessage', 'SubscribeToTask'])('%s is refused', async (method) => {
    const { post } = agent()
    const response = await post({ method, params: { message: asked(), id: 'task' } })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code: -32004 } })
  })

  test.each([
    ['2.0', -32009],
    ['0.30', -32009],
    ['1.0', undefined],
    ['1.0.0', undefined],
  ])('version %s gets %s', async (version, code) => {
    const { call } = agent()
    const reply = await call('SendMessage', { message: asked() }, { 'a2a-version': version })
    expect(reply.error?.code).toBe(code)
  })
})

test.each([
  ['/mcp', 'mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id'],
  ['/a2a', 'a2a-version, a2a-extensions, x-a2a-extensions'],
])('a page of another origin may send %s what its protocol needs', async (url, wanted) => {
  const { app } = agent()
  const headers = {
    origin: 'https://a.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': wanted,
  }
  const preflight = await app.inject({ method: 'OPTIONS', url, headers })
  const listed = (name: string) => String(preflight.headers[name]).toLowerCase().split(', ')
  expect(listed('access-control-allow-headers')).toEqual(
    expect.arrayContaining([...wanted.split(', '), 'content-type']),
  )
  expect(listed('access-control-expose-headers')).toEqual(
    expect.arrayContaining(['a2a-extensions', 'x-a2a-extensions']),
  )
})
