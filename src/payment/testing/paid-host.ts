import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import { problem } from '../../domain/problem.ts'
import type { ExactEvmPayment } from '../evm/exact-evm.ts'
import { exactEvm } from '../evm/exact-evm.ts'
import { base } from '../evm/networks.ts'
import { SqliteLedger } from '../ledger/sqlite-ledger.ts'
import type { Facilitator, PaymentMethod } from '../payment.ts'
import type { PaymentEvent } from '../payment-event.ts'
import type { PaymentOptions } from '../plugin.ts'
import { payments } from '../plugin.ts'
import { quoteLimit } from '../quote-limit.ts'
import type { PaidRoute } from '../terms.ts'
import { newSecret } from './new-secret.ts'

export const PRICE = 20_000n
export const DEARER_PRICE = 60_000n

/** A small service that sells, and counts how often it did the work. */
export type PaidHost = {
  readonly app: FastifyInstance
  readonly url: string
  readonly ledger: SqliteLedger
  readonly events: readonly PaymentEvent[]
  /** How often a handler ran. */
  runs(): number
  close(): Promise<void>
}

export type PaidHostOptions = Pick<PaymentOptions, 'clock' | 'finality' | 'exposure'> & {
  readonly payTo: string
  readonly facilitator: Facilitator<ExactEvmPayment>
  /** Instead of `exact` on Base. */
  readonly methods?: readonly PaymentMethod[]
  readonly ledgerPath?: string
  /** Instead of one at `ledgerPath`. */
  readonly ledger?: SqliteLedger
  readonly limits?: PaymentOptions['limits']
  readonly quotesPerMinute?: number
  /** What its routes say beside price and description. */
  readonly route?: Pick<PaidRoute, 'catalogued' | 'extensionsOf'>
  /** Runs inside the handler of `/slow`, before it answers. */
  readonly atWork?: () => Promise<void>
}

export async function startPaidHost(options: PaidHostOptions): Promise<PaidHost> {
  const { payTo, facilitator, clock, ledgerPath = ':memory:', atWork } = options
  const ledger = options.ledger ?? new SqliteLedger(ledgerPath)
  const events: PaymentEvent[] = []
  let runs = 0
  const app = Fastify({ forceCloseConnections: true })
  app.addHook('onRequest', quoteLimit(options.quotesPerMinute ?? 10_000).onRequest)
  await app.register(payments, {
    methods: options.methods ?? [exactEvm({ network: base, payTo, facilitator })],
    ledger,
    clock,
    publicUrl: 'https://api.example.com',
    newSecret,
    ...(options.finality === undefined ? {} : { finality: options.finality }),
    ...(options.exposure === undefined ? {} : { exposure: options.exposure }),
    limits: {
      paidCallsPerWalletPerMinute: 1_000,
      failedPaymentsPerAddressPerMinute: 1_000,
      identicalFailuresPerMinute: 1_000,
      repeatedPaymentsPerAddressPerMinute: 1_000,
      unverifiedPaymentsPerAddressPerMinute: 1_000,
      unverifiedPaymentsPerSecond: 1_000,
      ...options.limits,
    },
    onEvent: (event) => events.push(event),
  })

  const sell = (
    path: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => unknown,
    priceUsdcAtomic = PRICE,
  ) => {
    const config = { x402: { ...options.route, priceUsdcAtomic, description: `Sells ${path}` } }
    app.get(path, { config }, (request, reply) => {
      runs += 1
      return handler(request, reply)
    })
  }
  const answer = (request: FastifyRequest, reply: FastifyReply) =>
    reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('etag', `"${runs}"`)
      .send(Buffer.from(JSON.stringify({ coin: request.params, run: runs })))
  sell('/pulse/:coin', answer)
  sell('/bundle/:coin', answer, DEARER_PRICE)
  sell('/slow/:coin', async (request, reply) => {
    await atWork?.()
    if (request.headers['if-none-match'] === '*') return reply.code(304).send()
    return answer(request, reply)
  })
  sell('/status/:status', (request, reply) => {
    const { status } = request.params as { readonly status: string }
    return reply.code(Number(status)).send(Buffer.from('{"refused":true}'))
  })
  sell('/stale', (_request, reply) => {
    const facts = { detail: 'Old. Nothing was charged. Retry in 212 s.', retryAfterSeconds: 212 }
    const origin = { instance: '/stale', requestId: 'test' }
    const { status, headers, body } = problem('data_stale', facts, origin)
    return reply.code(status).headers(headers).send(body)
  })
  sell('/throws', () => {
    throw new Error('the engine is broken')
  })
  sell('/empty', (_request, reply) => reply.send(Buffer.alloc(0)))

  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    url,
    ledger,
    events,
    runs: () => runs,
    close: async () => {
      await app.close()
      await ledger.close()
    },
  }
}
