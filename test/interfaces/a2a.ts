import type { Message, Task } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { x402Client } from '@x402/core/client'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { pulse } from '../../src/compute/analyses/pulse/pulse.ts'
import { contracts } from '../../src/compute/analyses/registry.ts'
import { newBuyer } from '../../src/payment/testing/buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { Rig } from '../support/service.ts'
import { fromElsewhere } from '../support/service.ts'

const FUNDS = 1_000_000n
const TRY_AGAIN_MS = 200

export function a2aTests(service: () => Rig): void {
  async function agent() {
    const fetchImpl = fromElsewhere()
    const factory = new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new JsonRpcTransportFactory({ fetchImpl })],
      }),
    )
    return factory.createFromUrl(service().url)
  }

  async function wallet(funds = FUNDS) {
    const account = newBuyer()
    if (funds > 0n) await service().chain.fundUsdc(account.address, funds)
    const payer = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
    return {
      pay: (quote: unknown) => payer.createPaymentPayload(quote as PaymentRequired),
      spent: async () => funds - (await service().chain.balanceOf(account.address)),
    }
  }

  let messages = 0

  function message(
    content: NonNullable<Message['parts'][number]['content']>,
    more: Partial<Message> = {},
  ): Message {
    messages += 1
    return {
      messageId: `message-${messages}`,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    }
  }

  const text = (value: string) => ({ $case: 'text' as const, value })

  async function sent(message: Message): Promise<Task> {
    const client = await agent()
    const request = { tenant: '', message, configuration: undefined, metadata: undefined }
    return (await client.sendMessage(request)) as Task
  }

  /** Sends it again while the data is older than quoted, as where a busy machine delays a book. */
  async function paid(submission: Message): Promise<Task> {
    let task = await sent(submission)
    while (metadataOf(task)['x402.payment.error'] === 'data_stale') {
      await new Promise<void>((resolve) => systemClock.after(TRY_AGAIN_MS, resolve))
      task = await sent(submission)
    }
    return task
  }

  function metadataOf(task: Task): Record<string, unknown> {
    return task.status?.message?.metadata ?? {}
  }

  describe('the A2A client of the SDK', () => {
    test.each([
      ['a text', text('pulse BTC')],
      ['data', { $case: 'data' as const, value: { analysis: 'pulse', coin: 'btc', view: 'full' } }],
    ])('buys a pulse that it asks for by %s', async (_how, content) => {
      const { pay, spent } = await wallet()
      const quoted = await sent(message(content))
      expect(quoted.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
      expect(metadataOf(quoted)['x402.payment.status']).toBe('payment-required')

      const payment = await pay(metadataOf(quoted)['x402.payment.required'])
      const metadata = {
        'x402.payment.status': 'payment-submitted',
        'x402.payment.payload': payment,
      }
      const { id: taskId, contextId } = quoted
      const done = await paid(message(text('paid'), { taskId, contextId, metadata }))
      expect(done.id).toBe(taskId)
      expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
      expect(metadataOf(done)['x402.payment.status']).toBe('payment-completed')
      const [receipt] = metadataOf(done)['x402.payment.receipts'] as SettleResponse[]
      expect(receipt).toMatchObject({ success: true, network: 'eip155:8453' })
      const answer = done.artifacts[0]?.parts[0]?.content?.value as Record<string, unknown>
      expect(answer).toMatchObject({ coin: 'BTC' })
      if (content.$case === 'data')
        expect([...Compile(pulse.contract.document).Errors(answer)]).toEqual([])
      expect(await spent()).toBe(pulse.contract.priceUsdcAtomic)

      const client = await agent()
      const fetched = await client.getTask({ tenant: '', id: taskId, historyLength: undefined })
      expect(fetched.artifacts).toEqual(done.artifacts)
    })

    test('is asked again when its payment is refused, and may pay otherwise', async () => {
      const quoted = await sent(message(text('pulse BTC')))
      const required = metadataOf(quoted)['x402.payment.required']
      const { id: taskId, contextId } = quoted
      const paying = async (funds: bigint) => {
        const { pay } = await wallet(funds)
        const metadata = { 'x402.payment.payload': await pay(required) }
        return paid(message(text('paid'), { taskId, contextId, metadata }))
      }
      const refused = await paying(0n)
      expect(refused.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
      expect(metadataOf(refused)).toMatchObject({
        'x402.payment.status': 'payment-failed',
        'x402.payment.error': 'INSUFFICIENT_FUNDS',
      })
      const done = await paying(FUNDS)
      expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
      const network = 'eip155:8453'
      expect(metadataOf(done)['x402.payment.receipts']).toMatchObject([
        { success: false, errorReason: expect.stringMatching(/insufficient/), network },
        { success: true, network },
      ])
    })

    test.each([
      'what is the weather?',
      '{"analysis":"pulse"',
      '{"analysis":["pulse"]}',
      '{"coin":"BTC"}',
    ])('learns what can be asked for when it asks for something else: %s', async (words) => {
      const task = await sent(message(text(words)))
      expect(task.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
      const part = task.status?.message?.parts[0]?.content
      for (const { id } of contracts) expect(String(part?.value)).toContain(id)
    })

    test.each(['pulse BTCUSDT', 'pulse BTC/USDC', '/pulse/BTC', 'PULSE btc-usdc'])(
      'is quoted for BTC when it asks for %s',
      async (words) => {
        const task = await sent(message(text(words)))
        expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
        expect(metadataOf(task)['x402.payment.required']).toBeDefined()
      },
    )

    test('receives an error without a coin', async () => {
      const task = await sent(message(text('pulse')))
      expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
      expect(metadataOf(task)['problem']).toMatchObject({ code: 'invalid_coin', param: 'coin' })
    })

    test('receives an error for an unknown coin, without a quote', async () => {
      const task = await sent(message(text('pulse BTCC')))
      expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
      expect(metadataOf(task)['problem']).toMatchObject({ code: 'invalid_coin' })
    })
  })

  test('the card says that payments complete within a task, because they do', async () => {
    const card = (await (await fetch(`${service().url}/.well-known/agent-card.json`)).json()) as {
      capabilities: { extensions: { uri: string; required: boolean }[] }
      defaultInputModes: string[]
      skills: { examples: string[] }[]
    }
    expect(card.capabilities.extensions).toMatchObject([
      { uri: expect.stringContaining('a2a-x402/v0.1'), required: false },
      { uri: expect.stringContaining('a2a-x402/blob/main/spec/v0.2'), required: false },
    ])
    expect(card.defaultInputModes).toContain('text/plain')
  })

  test('the examples of the card can be sent unchanged', async () => {
    const card = (await (await fetch(`${service().url}/.well-known/agent-card.json`)).json()) as {
      skills: { id: string; examples: string[] }[]
    }
    for (const { id, examples } of card.skills)
      for (const example of examples) {
        const task = await sent(message(text(example)))
        expect(task.status?.state, `${id}: ${example}`).not.toBe(TaskState.TASK_STATE_REJECTED)
      }
  })

  describe('a caller of 0.3', () => {
    const call = async (method: string, params: unknown) => {
      const response = await fromElsewhere()(`${service().url}/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return (await response.json()) as { result: Record<string, never>; error?: { code: number } }
    }
    const legacy = (words: string) => ({
      message: {
        kind: 'message',
        role: 'user',
        messageId: `legacy-${words}`,
        parts: [{ kind: 'text', text: words }],
      },
    })

    test('is understood in the words of its version', async () => {
      const { result } = await call('message/send', legacy('pulse BTC'))
      expect(result).toMatchObject({
        kind: 'task',
        status: {
          state: 'input-required',
          message: { metadata: { 'x402.payment.status': 'payment-required' } },
        },
      })
    })

    test('is refused a stream', async () => {
      expect((await call('message/stream', legacy('pulse BTC'))).error).toBeDefined()
    })
  })

  test('no caller sees the tasks of others', async () => {
    await sent(message(text('pulse BTC')))
    const client = await agent()
    const { tasks } = await client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: undefined,
      pageToken: '',
      historyLength: undefined,
      statusTimestampAfter: undefined,
      includeArtifacts: undefined,
    })
    expect(tasks).toEqual([])
  })
}
