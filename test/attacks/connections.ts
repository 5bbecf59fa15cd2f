import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { PrivateKeyAccount } from 'viem/accounts'
import { pulse } from '../../src/compute/analyses/pulse/pulse.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { Rig } from '../support/service.ts'
import { startRig, untilAnswerable } from '../support/service.ts'
import { measureRecovery } from './recovery.ts'

/** Cost of one attack for both sides, and its effect on an honest buyer. */
export type AttackReport = {
  readonly attack: string
  /** Requests of the attacker, from one address. */
  readonly sent: string
  readonly answered: number
  readonly refused: number
  /** Median of the honest buyer's paid calls: alone (see `measureRecovery`) and under attack. */
  readonly idleMs: number
  readonly attackedMs: number
  /** Whether the honest buyer's calls are sold and fast again after the attack. */
  readonly recovered: boolean
  /** Paid calls that were answered with 200 under attack, of `paidCalls`. */
  readonly sold: number
  readonly paidCalls: number
}

const ATTACKER = '127.0.0.2'
const HONEST = '127.0.0.1'
const PATIENCE_MS = 30_000
/** Tolerance for a busy machine in a median of three. */
export const NOISE_MS = 1_000
const PULSE_PRICE = pulse.contract.priceUsdcAtomic

/** The attacks of one address on the connections and the JSON-RPC routes of a service on loopback. */
export async function attackConnections(
  paidCalls: number,
  onReport: (report: AttackReport) => void = () => undefined,
): Promise<readonly AttackReport[]> {
  // No loopback address is a trusted proxy, so each counts as a client.
  const rig = await startRig({ flags: ['--trust-proxy', '192.0.2.1'] })
  try {
    await untilAnswerable(rig.url, 'BTC')
    const calls = async () => latencies(rig, await fundedBuyer(rig, paidCalls), paidCalls)
    await calls()
    const beforeMs = median((await calls()).ms)
    const afterMs = async () => {
      const { ms, sold } = await calls()
      return sold === paidCalls ? median(ms) : Number.POSITIVE_INFINITY
    }
    const reports: AttackReport[] = []
    for (const attack of attacks) {
      // Funded before the attack, so that only the sale is measured.
      const buyer = await fundedBuyer(rig, paidCalls)
      const attacker = new Attacker(rig.url)
      const sent = await attack.begin(attacker)
      const attacked = await latencies(rig, buyer, paidCalls)
      attacker.stop()
      const { answered, refused } = attacker
      const { control, recovered } = await measureRecovery(beforeMs, afterMs, NOISE_MS)
      const report = {
        attack: attack.name,
        sent,
        answered,
        refused,
        idleMs: control,
        attackedMs: median(attacked.ms),
        recovered,
        sold: attacked.sold,
        paidCalls,
      }
      reports.push(report)
      onReport(report)
    }
    return reports
  } finally {
    await rig.close()
  }
}

const call = { name: 'get_pulse', arguments: { coin: 'BTC' } }
const toolCall = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: call })
const hundred = Array.from({ length: 100 }, (_, id) => id)

const attacks: readonly {
  readonly name: string
  readonly begin: (attacker: Attacker) => Promise<string>
}[] = [
  {
    name: '1,000 connections kept alive',
    begin: async (attacker) => {
      const bytes = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
      await Promise.all(Array.from({ length: 1_000 }, () => attacker.hold(bytes)))
      return `${1_000 * bytes.length} bytes once`
    },
  },
  flood(
    '/mcp: 100 calls on each of 8 connections',
    hundred.map((id) => post('/mcp', toolCall(id))),
  ),
  flood('/mcp: batches of 100 calls on 8 connections', [post('/mcp', hundred.map(toolCall))]),
  flood('/mcp: tools/list on 8 connections', [
    post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  ]),
  flood(
    '/a2a: 100 messages on each of 8 connections',
    hundred.map((id) =>
      post('/a2a', {
        jsonrpc: '2.0',
        id,
        method: 'message/send',
        params: {
          message: {
            kind: 'message',
            role: 'user',
            messageId: `m-${id}`,
            parts: [{ kind: 'text', text: 'pulse BTC' }],
          },
        },
      }),
    ),
  ),
]

/** Repeats the same requests as soon as the previous ones are answered. */
function flood(name: string, requests: readonly string[]) {
  return {
    name,
    begin: async (attacker: Attacker) => {
      for (let connection = 0; connection < 8; connection += 1)
        void attacker.repeat(requests.join(''), requests.length)
      return `8 × ${requests.join('').length} bytes again and again`
    },
  }
}

function post(path: string, message: unknown): string {
  const body = JSON.stringify(message)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: a',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** All connections of one address. */
class Attacker {
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #isStopped = false
  answered = 0
  refused = 0

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** Sends once and keeps the connection; resolves at the first answer or when it is closed. */
  async hold(bytes: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#open(bytes, () => resolve()).once('close', () => resolve())
    })
  }

  /** Sends again after each complete answer, on a new connection if the old one was closed. */
  async repeat(bytes: string, answers: number): Promise<void> {
    while (!this.#isStopped) {
      await new Promise<void>((resolve) => {
        let open = answers
        const socket = this.#open(bytes, (count) => {
          open -= count
          if (open > 0) return
          open += answers
          socket.write(bytes)
        })
        socket.once('close', () => resolve())
      })
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(bytes: string, onAnswers: (count: number) => void): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: ATTACKER })
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      const statuses = chunk.match(/HTTP\/1\.1 \d/g)?.map((line) => line.at(-1)) ?? []
      const ok = statuses.filter((status) => status === '2').length
      this.answered += ok
      this.refused += statuses.length - ok
      if (statuses.length > 0) onAnswers(statuses.length)
    })
    socket.write(bytes)
    return socket
  }
}

/** Sequential paid calls, each on a new connection. */
async function latencies(rig: Rig, buyer: PrivateKeyAccount, count: number) {
  const ms: number[] = []
  let sold = 0
  for (let index = 0; index < count; index += 1) {
    const payTo = rig.chain.accounts.merchant.address
    const choices = { amount: PULSE_PRICE, payTo, nowMs: systemClock.nowMs() }
    const payment = encodedPayment(await signedPayload(buyer, choices))
    const beganMs = performance.now()
    const status = await bought(`${rig.url}/pulse/BTC`, payment)
    ms.push(performance.now() - beganMs)
    if (status === 200) sold += 1
  }
  return { ms, sold }
}

async function fundedBuyer(rig: Rig, calls: number): Promise<PrivateKeyAccount> {
  const buyer = newBuyer()
  await rig.chain.fundUsdc(buyer.address, PULSE_PRICE * BigInt(calls))
  return buyer
}

/** @returns the status, 0 if the connection was refused */
async function bought(url: string, payment: string): Promise<number> {
  const agent = new Agent({ localAddress: HONEST })
  try {
    return await new Promise<number>((resolve, reject) => {
      const headers = { 'payment-signature': payment }
      const call = request(url, { agent, headers, timeout: PATIENCE_MS })
      call.once('timeout', () => call.destroy())
      call.once('error', reject)
      call.once('response', (response) => {
        text(response).then(() => resolve(response.statusCode ?? 0), reject)
      })
      call.end()
    })
  } catch {
    return 0
  } finally {
    agent.destroy()
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN)
}
