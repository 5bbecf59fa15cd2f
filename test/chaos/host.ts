import Fastify from 'fastify'
import { createPublicClient, http } from 'viem'
import { chainOutcome, evmTransactionPays } from '../../src/payment/evm/chain-outcome.ts'
import type { ExactEvmPayment } from '../../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { HostedFacilitators } from '../../src/payment/facilitators/hosted-facilitators.ts'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import { payments } from '../../src/payment/plugin.ts'
import { newSecret } from '../../src/payment/testing/new-secret.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { HostOptions } from './host-process.ts'

/**
 * The process that is killed: a small service with the payment plugin, a ledger on disk and external facilitators.
 * Started by `host-process.ts`.
 */

const LIMIT = 1_000_000
const HANDLER_MS_MAX = 15
const HANDLER_FAILS = 0.03

const options = JSON.parse(process.argv[2] ?? '{}') as HostOptions
const { port, ledgerPath, payTo, rpcUrl, facilitatorUrls, defect } = options

// The parent process has ended.
process.once('disconnect', () => process.exit())

const ledger = new SqliteLedger(ledgerPath)
const hosted = new HostedFacilitators({
  addresses: facilitatorUrls.map((url) => ({ url })),
  clock: systemClock,
  chance: Math.random,
})
const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0 }) })
const kind = { scheme: 'exact', network: base.network, asset: base.asset }
const facilitator = hosted.of<ExactEvmPayment>(kind, {
  outcome: (payment) => chainOutcome(client, payment),
  isPaidBy: async (payment, transaction) =>
    defect === 'believes' || evmTransactionPays(client, payment, transaction),
})

const app = Fastify({ forceCloseConnections: true })
await app.register(payments, {
  methods: [exactEvm({ network: base, payTo, facilitator })],
  ledger,
  clock: systemClock,
  publicUrl: `http://127.0.0.1:${port}`,
  newSecret,
  limits: {
    paidCallsPerWalletPerMinute: LIMIT,
    failedPaymentsPerAddressPerMinute: LIMIT,
    identicalFailuresPerMinute: LIMIT,
    repeatedPaymentsPerAddressPerMinute: LIMIT,
    unverifiedPaymentsPerAddressPerMinute: LIMIT,
    unverifiedPaymentsPerSecond: LIMIT,
  },
})

let runs = 0
const x402 = { priceUsdcAtomic: BigInt(options.priceUsdcAtomic), description: 'What is killed.' }
app.get('/answers/:id', { config: { x402 } }, async (request, reply) => {
  await new Promise<void>((resolve) => {
    systemClock.after(Math.random() * HANDLER_MS_MAX, resolve)
  })
  if (Math.random() < HANDLER_FAILS) return reply.code(503).send('{"failed":true}')
  runs += 1
  // No two runs give the same bytes, also across restarts.
  return reply
    .type('application/json')
    .send(Buffer.from(JSON.stringify({ ...(request.params as object), by: process.pid, runs })))
})

/** A planted defect. An answer bought before already has its receipt here; a new sale does not. */
let replies = 0
if (defect === 'forgets' || defect === 'other bytes')
  app.addHook('onSend', async (_request, reply, payload) => {
    if (reply.statusCode !== 200) return payload
    replies += 1
    if (defect === 'other bytes') return `${String(payload)}${replies}`
    if (!reply.hasHeader('payment-response')) return payload
    reply.code(500)
    return '{"forgotten":true}'
  })

await app.listen({ host: '127.0.0.1', port })
hosted.start()
process.send?.('listening')
