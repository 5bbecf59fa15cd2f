import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parseUnits } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { inheritedEnv } from '../src/config/environment.ts'
import type { ProblemCode } from '../src/domain/problem.ts'
import { problem } from '../src/domain/problem.ts'
import type { Ground } from './support/attacked.ts'
import { FUNDS, PULSE_PRICE, startGround } from './support/attacked.ts'
import { putUsdc } from './support/usdc-balance.ts'

const MAIN = join(import.meta.dirname, '../dist/main.js')

type Result = {
  readonly isError?: boolean
  readonly content?: readonly { readonly text?: string }[]
}

let ground: Ground
let road: Road
/** One command for all purchases: after each it keeps nothing but the sum. */
let command: Awaited<ReturnType<typeof started>>
const opened: { close(): Promise<unknown> }[] = []
const shared: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  ground = await startGround()
  road = await roadTo()
  command = await started(road.url)
  shared.push(...opened.splice(0))
})

afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close()
})

afterAll(async () => {
  for (const thing of shared.splice(0).reverse()) await thing.close()
  await ground?.close()
})

describe('perpscope mcp', () => {
  test('fetches an answer that got lost on its way with the payment that bought it', async () => {
    const { buy, payments, spent, reported } = await trip((payment, reply) =>
      payment === 1 ? null : reply,
    )
    expect(await buy({ coin: 'BTC' })).not.toHaveProperty('isError', true)
    expect(payments).toHaveLength(2)
    expect(new Set(payments).size).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
  })

  test.each([
    ['again', { coin: 'BTC', timeframes: ['1h', '4h'] }],
    ['again, in other words', { timeframes: ['1h', '4h'], coin: 'BTC' }],
  ])('sends a payment whose outcome is open when the call is made %s', async (_how, again) => {
    let isOpen = true
    const { buy, payments, spent, reported } = await trip((_payment, reply) =>
      isOpen ? outcomeOpen(reply) : reply,
    )
    const first = await buy({ coin: 'BTC', timeframes: ['1h', '4h'] })
    isOpen = false
    const second = await buy(again)
    expect(new Set(payments).size).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
    expect(first.isError).toBe(true)
    expect(first.content?.[0]?.text).toMatch(/Call again with the same arguments/)
    expect(second).not.toHaveProperty('isError', true)
  })

  test('keeps a refused payment that an earlier request may have charged, and signs no other', async () => {
    let state: 'open' | 'refused' | 'sold' = 'open'
    const { buy, payments, spent, reported } = await trip((_payment, reply) => {
      if (state === 'sold') return reply
      return state === 'open' ? outcomeOpen(reply) : refusedAsUsed(reply)
    })
    await buy({ coin: 'BTC' })
    state = 'refused'
    for (let call = 0; call < 2; call += 1)
      expect((await buy({ coin: 'BTC' })).content?.[0]?.text).toMatch(
        /^Not bought: x: y\. Call again with the same arguments: .* restart perpscope mcp\.$/,
      )
    state = 'sold'
    expect(await buy({ coin: 'BTC' })).not.toHaveProperty('isError', true)
    expect(new Set(payments).size).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
  })

  test('sends a payment again whose outcome a limit hides, and signs no other', async () => {
    let isLimited = true
    const { buy, payments, spent, reported } = await trip((payment, reply) => {
      if (payment === 1) return null
      return isLimited ? refusing(reply, 'rate_limited', 60, false) : reply
    })
    for (let call = 0; call < 2; call += 1)
      expect((await buy({ coin: 'BTC' })).content?.[0]?.text).toMatch(/Call again with the same/)
    isLimited = false
    expect(await buy({ coin: 'BTC' })).not.toHaveProperty('isError', true)
    expect(new Set(payments).size).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
  })

  test('pays once for a call that is made again before its answer came', async () => {
    const { buy, spent, reported } = await trip((_payment, reply) => reply)
    const [one, other] = await Promise.all([buy({ coin: 'BTC' }), buy({ coin: 'BTC' })])
    expect(one).not.toHaveProperty('isError', true)
    expect(other).toEqual(one)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
  })

  test('pays nothing for a call that is cancelled before it was paid', async () => {
    const [held, release] = gate()
    const { client, buy, payments, quotes, quotesAnswered, spent, reported } = await trip(
      (_payment, reply) => reply,
      held,
    )
    const cancelled = new AbortController()
    const call = { name: 'get_pulse', arguments: { coin: 'BTC' } }
    const first = client.callTool(call, { signal: cancelled.signal })
    await expect.poll(quotes).toBe(1)
    cancelled.abort('changed my mind')
    await expect(first).rejects.toThrow('changed my mind')
    // The cancellation comes before this answer, and this call after that purchase has ended.
    await client.listTools()
    release()
    await expect.poll(quotesAnswered).toBe(1)
    expect(await spent()).toBe(0n)
    expect(payments).toEqual([])
    expect(await buy({ coin: 'BTC' })).not.toHaveProperty('isError', true)
    expect(await spent()).toBe(PULSE_PRICE)
    await expect.poll(reported).toBe(PULSE_PRICE)
  })

  test('gives the answer of a call that was cancelled while it was paid to the same call', async () => {
    const [held, release] = gate()
    const { client, buy, payments, spent, reported } = await trip((payment, reply) =>
      payment === 1 ? held.then(() => reply) : reply,
    )
    const cancelled = new AbortController()
    const call = { name: 'get_pulse', arguments: { coin: 'BTC' } }
    const first = client.callTool(call, { signal: cancelled.signal })
    await expect.poll(() => payments.length).toBe(1)
    cancelled.abort('changed my mind')
    await expect(first).rejects.toThrow('changed my mind')
    await client.listTools()
    release()
    await expect.poll(reported).toBe(PULSE_PRICE)
    expect(await buy({ coin: 'BTC' })).not.toHaveProperty('isError', true)
    expect(new Set(payments).size).toBe(1)
    expect(await spent()).toBe(PULSE_PRICE)
  })

  test('answers the calls that are being paid when its input ends, and then ends', async () => {
    const [held, release] = gate()
    const { payments } = road.begin((_payment, reply) => held.then(() => reply), Promise.resolve())
    const { child, spent, output, exit } = await calling()
    await expect.poll(() => payments.length).toBe(1)
    child.stdin.end(release)
    expect(await exit).toEqual([0, null])
    expect(answerIn(await output)).toMatchObject({ structuredContent: { coin: 'BTC' } })
    expect(payments).toHaveLength(1)
    expect(await spent()).toBe(PULSE_PRICE)
  })

  test('signs nothing for a call whose quote comes after the end of its input', async () => {
    const [held, release] = gate()
    const { payments, quotes, lists } = road.begin((_payment, reply) => reply, held)
    const { child, spent, output, errors, exit } = await calling()
    await expect.poll(quotes).toBe(1)
    // Without its line end it is read at the end of the input.
    child.stdin.end(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
    await expect.poll(lists).toBe(1)
    release()
    expect(await exit).toEqual([0, null])
    expect(answerIn(await output)).toMatchObject({
      isError: true,
      content: [{ text: 'Cancelled before anything was paid.' }],
    })
    expect(await errors).not.toContain('USDC spent')
    expect(payments).toEqual([])
    expect(await spent()).toBe(0n)
  })

  test('names the command that fetches an answer if its host died before it came', async () => {
    const [held, release] = gate()
    const { payments } = road.begin((_payment, reply) => held.then(() => reply), Promise.resolve())
    const { child, spent, output, errors, exit } = await calling()
    await expect.poll(() => payments.length).toBe(1)
    child.stdout.destroy()
    await expect(output).rejects.toThrow('Premature close')
    child.stdin.end(release)
    expect(await exit).toEqual([3, null])
    expect(await errors).toContain('--resume')
    expect(await spent()).toBe(PULSE_PRICE)
  })

  test('ends without a payment when signals end it before the quote', async () => {
    const [held, release] = gate()
    const { payments, quotes } = road.begin((_payment, reply) => reply, held)
    const { spent, endBySignals, errors } = await calling()
    await expect.poll(quotes).toBe(1)
    expect(await endBySignals()).toEqual([0, null])
    release()
    expect(await errors).not.toContain('--resume')
    expect(payments).toEqual([])
    expect(await spent()).toBe(0n)
  })

  test('names the command that fetches the answer of a payment whose outcome it could not await', async () => {
    const { payments } = road.begin(() => null, Promise.resolve())
    const { spent, endBySignals, errors } = await calling()
    await expect.poll(() => payments.length).toBeGreaterThan(0)
    expect(await endBySignals()).toEqual([3, null])
    const [, words] = /^perpscope (buy \S+ --url \S+ --resume \S+)$/m.exec(await errors) ?? []
    const command = `"$0" "$1" ${words}`
    const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, MAIN])
    expect(JSON.parse(stdout)).toMatchObject({ coin: 'BTC' })
    expect(await spent()).toBe(PULSE_PRICE)
  })

  test('names the command that sends a refused payment again, which may be charged', async () => {
    const { payments } = road.begin((_payment, reply) => refusedAsUsed(reply), Promise.resolve())
    const { endBySignals, errors, output } = await calling()
    await expect.poll(() => payments.length).toBe(1)
    expect(await endBySignals()).toEqual([3, null])
    expect(await errors).toMatch(/^perpscope buy \S+ --url \S+ --resume \S+$/m)
    await output
  })

  test('answers invalid messages and continues', async () => {
    const gateway = await ground.gateway()
    const child = spawn(process.execPath, [MAIN, 'mcp', '--url', gateway.url], {
      env: { ...inheritedEnv(), PERPSCOPE_WALLET_KEY: generatePrivateKey() },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    opened.push({
      close: async () => {
        child.kill()
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
    })
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const { jsonrpc: _, ...bare } = list
    for (const frame of ['junk', { ...bare, id: 9 }, [list, list], list])
      child.stdin.write(`${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n`)
    const frames = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await frames.next()).value ?? 'null')
    expect(await next()).toMatchObject({ id: null, error: { code: -32700 } })
    expect(await next()).toMatchObject({ id: 9, error: { code: -32600 } })
    expect(await next()).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining('2025-06-18') },
    })
    expect(await next()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } })
  })

  test('reports why a payment was refused, and counts it while it can be settled', async () => {
    const gateway = await ground.gateway()
    const { buy, logged } = await started(gateway.url, 0n)
    const refused = await buy({ coin: 'BTC' })
    expect(refused.isError).toBe(true)
    expect(refused.content?.[0]?.text).toMatch(/^Not bought: .*insufficient/)
    await expect
      .poll(logged)
      .toContain('get_pulse, 0.025 USDC spent, 0.025 of them for payments without an answer')
  })
})

/** The command with a wallet of its own, and a host that speaks to it. */
async function started(url: string, funds = FUNDS) {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  if (funds > 0n) await putUsdc(ground.chain, address, funds)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', '--url', url],
    env: { ...inheritedEnv(), PERPSCOPE_WALLET_KEY: key },
    stderr: 'pipe',
  })
  let logged = ''
  transport.stderr?.on('data', (data: Buffer) => {
    logged += data.toString()
  })
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport)
  opened.push(client)
  return {
    client,
    buy: (args: Record<string, unknown>) =>
      client.callTool({ name: 'get_pulse', arguments: args }) as Promise<Result>,
    balance: () => ground.chain.balanceOf(address),
    logged: () => logged,
  }
}

/** A command of its own that has received one call, and everything that it writes. */
async function calling() {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await putUsdc(ground.chain, address, FUNDS)
  const child = spawn(process.execPath, [MAIN, 'mcp', '--url', road.url], {
    env: { ...inheritedEnv(), PERPSCOPE_WALLET_KEY: key },
  })
  const exit = once(child, 'exit')
  opened.push({
    close: async () => {
      child.kill('SIGKILL')
      await exit
    },
  })
  const clientInfo = { name: 'test', version: '1.0.0' }
  const frames = [
    {
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    },
    { method: 'notifications/initialized' },
    { id: 1, method: 'tools/call', params: { name: 'get_pulse', arguments: { coin: 'BTC' } } },
  ]
  for (const frame of frames) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
  return {
    child,
    /** The first lets it wait for answers, the next one ends it. */
    endBySignals: async () => {
      await expect
        .poll(() => child.kill('SIGTERM') && child.exitCode === null && child.signalCode === null)
        .toBe(false)
      return exit
    },
    exit,
    output: textOf(child.stdout),
    errors: textOf(child.stderr),
    spent: async () => FUNDS - (await ground.chain.balanceOf(address)),
  }
}

/** The result of the call of `calling`. */
function answerIn(output: string): unknown {
  const frames = output.trim().split('\n')
  return frames.map((frame) => JSON.parse(frame)).find(({ id }) => id === 1)?.result
}

/** Purchases by the command from here on, and what becomes of their payments. */
async function trip(meddle: Meddle, quotesHeld: Promise<void> = Promise.resolve()) {
  const { client, buy, balance, logged } = command
  const reported = () => {
    const [, usdc = '0'] = [...logged().matchAll(/get_pulse, ([\d.]+) USDC spent/g)].at(-1) ?? []
    expect(usdc).toMatch(/^\d+(\.\d{1,6})?$/)
    return parseUnits(usdc, 6)
  }
  const [balanceBefore, reportedBefore] = [await balance(), reported()]
  return {
    ...road.begin(meddle, quotesHeld),
    client,
    buy,
    spent: async () => balanceBefore - (await balance()),
    reported: () => reported() - reportedBefore,
  }
}

/** A JSON-RPC message that the service sent, with its status. */
type Reply = { readonly status: number; readonly type: string; readonly body: string }
/** What becomes of the reply to a payment, counted from 1; null loses it. */
type Meddle = (payment: number, reply: Reply) => Reply | null | Promise<Reply>

type Trip = {
  readonly payments: string[]
  readonly quotes: () => number
  readonly quotesAnswered: () => number
  /** Requests for the list of tools. */
  readonly lists: () => number
}
type Road = {
  readonly url: string
  /** Keeps the payments that are seen from here on, and the quotes back until `quotesHeld`. */
  begin(meddle: Meddle, quotesHeld: Promise<void>): Trip
}

/** A proxy before a service. */
async function roadTo(): Promise<Road> {
  const gateway = await ground.gateway()
  let [meddle, held]: [Meddle, Promise<void>] = [(_payment, reply) => reply, Promise.resolve()]
  let [payments, quotes, quotesAnswered, lists]: [string[], number, number, number] = [[], 0, 0, 0]
  const server: Server = createServer((request, response) => {
    void carry(request, response).catch(() => response.destroy())
  })

  async function carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await textOf(request)
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const answer = await fetch(gateway.url + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(sent !== '' && { body: sent }),
    })
    const reply = {
      status: answer.status,
      type: answer.headers.get('content-type') ?? '',
      body: await answer.text(),
    }
    const receipt = answer.headers.get('payment-response')
    const message = sent === '' ? {} : JSON.parse(sent)
    const payment = message.params?._meta?.['x402/payment']
    if (payment !== undefined) payments.push(JSON.stringify(payment))
    if (message.method === 'tools/list') lists += 1
    const isQuote = message.method === 'tools/call' && payment === undefined
    if (isQuote) {
      quotes += 1
      await held
    }
    const carried = payment === undefined ? reply : await meddle(payments.length, reply)
    if (carried === null) response.destroy()
    else
      response
        .writeHead(carried.status, {
          'content-type': carried.type,
          ...(receipt !== null && { 'payment-response': receipt }),
        })
        .end(carried.body)
    if (isQuote) quotesAnswered += 1
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    begin: (nextMeddle, quotesHeld) => {
      ;[meddle, held] = [nextMeddle, quotesHeld]
      ;[payments, quotes, quotesAnswered, lists] = [[], 0, 0, 0]
      return {
        ...{ payments, quotes: () => quotes, quotesAnswered: () => quotesAnswered },
        lists: () => lists,
      }
    },
  }
}

function gate(): readonly [Promise<void>, () => void] {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  // The shared command would wait for what a failed test holds.
  onTestFinished(open)
  return [opened, open]
}

/** What the service says while a settlement's outcome is unknown. */
function outcomeOpen(reply: Reply): Reply {
  return refusing(reply, 'settlement_unknown', 0, null)
}

/** The 402 for a payment whose nonce is used. */
function refusedAsUsed(reply: Reply): Reply {
  return failing(reply, JSON.stringify({ diagnostics: { reason: 'x', hint: 'y', charged: null } }))
}

/** A refusal after which the same payment can be sent again. */
function refusing(
  reply: Reply,
  code: ProblemCode,
  retryAfterSeconds: number,
  charged: false | null,
): Reply {
  const refusal = problem(
    code,
    { detail: 'Not now.', retryAfterSeconds, paymentReusable: true, charged },
    { instance: '/pulse/BTC', requestId: 'test' },
  )
  return failing(reply, refusal.body)
}

function failing({ status, body }: Reply, text: string): Reply {
  const { result, ...message } = JSON.parse(body.slice(body.indexOf('{')))
  const { structuredContent: _, ...rest } = result
  const content = [{ type: 'text', text }]
  return {
    status,
    type: 'application/json',
    body: JSON.stringify({ ...message, result: { ...rest, isError: true, content } }),
  }
}
