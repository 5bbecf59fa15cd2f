import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { MaintenanceSwitch } from '../../src/api/maintenance-switch.ts'
import { freeDocument } from '../../src/api/send-document.ts'
import { buildServer } from '../../src/api/server.ts'
import { contracts } from '../../src/compute/analyses/registry.ts'
import { trackRecordContract } from '../../src/compute/track-record-statistics/track-record-document.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { EngineReplica } from '../../src/link/engine-replica.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import type { ExactEvmPayment } from '../../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import type { Facilitator, PaymentMethod } from '../../src/payment/payment.ts'
import { payments } from '../../src/payment/plugin.ts'
import { quoteLimit } from '../../src/payment/quote-limit.ts'
import { newSecret } from '../../src/payment/testing/new-secret.ts'
import { readDocsViewer } from '../../src/roles/docs-viewer.ts'
import { ManualClock } from './manual-clock.ts'
import { newReplica, SimulatedService } from './simulated-service.ts'

export const PUBLIC_URL = 'https://api.example.com'
export const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'

const SEED = 11
const COINS = 24
/** At the venue's own REST weight it takes 150 s until every analysis has an answer. */
const WEIGHT_PER_MINUTE = 50_000
const WARM_SECONDS = 30
const MANY = 1_000_000

/** A frozen market at an instant at which every analysis has an answer. */
export type StandingMarket = { readonly engine: EngineReplica; readonly nowMs: number }

type Published = {
  readonly messages: readonly (readonly [EngineMessage, number])[]
  readonly nowMs: number
}

let published: Published | null = null

/** A separate replica: the engine runs once per worker, and its messages are applied to each replica. */
export function standingMarket(): StandingMarket {
  published ??= publishedByEngine()
  const engine = newReplica()
  for (const [message, atMs] of published.messages) engine.apply(message, atMs)
  return { engine, nowMs: published.nowMs }
}

function publishedByEngine(): Published {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-discovery-'))
  const messages: (readonly [EngineMessage, number])[] = []
  try {
    const service = new SimulatedService({
      seed: SEED,
      coins: COINS,
      dataDir,
      version: '1.2.3',
      hasPast: true,
      weightPerMinute: WEIGHT_PER_MINUTE,
      onMessage: (...message) => messages.push(message),
    })
    service.run(WARM_SECONDS)
    const nowMs = service.clock.nowMs()
    service.stop()
    return { messages, nowMs }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export type DiscoveryGateway = {
  readonly app: FastifyInstance
  readonly clock: ManualClock
  readonly maintenance: MaintenanceSwitch
  readonly methods: readonly PaymentMethod[]
  close(): Promise<void>
}

export type DiscoveryGatewayOptions = {
  readonly quotesPerMinute?: number
  /** For payments on a chain; they are valid by `paymentClock`. Every signed payment is settled if absent. */
  readonly facilitator?: Facilitator<ExactEvmPayment>
  /** The time of the market if absent. */
  readonly paymentClock?: Clock
}

/** The public server for that market, assembled as by `serve`, paid or open. */
export function discoveryGateway(
  { engine, nowMs }: StandingMarket,
  mode: 'x402' | 'open',
  { quotesPerMinute = MANY, facilitator = agreeable, paymentClock }: DiscoveryGatewayOptions = {},
): DiscoveryGateway {
  const clock = new ManualClock(nowMs)
  const maintenance = new MaintenanceSwitch(nowMs)
  const ledger = mode === 'open' ? null : new SqliteLedger(':memory:')
  const methods = ledger === null ? [] : [exactEvm({ network: base, payTo: PAY_TO, facilitator })]
  const app = buildServer({
    console: null,
    contracts,
    engine,
    maintenance,
    clock,
    version: '1.2.3',
    status: { document: freeDocument('application/json; charset=utf-8', '{}') },
    exampleCoin: 'BTC',
    trackRecord: trackRecordContract,
    claimsOf: null,
    ...(ledger !== null && { proofs: { hours: async () => [], proofOf: async () => null } }),
    payment:
      ledger === null
        ? null
        : (paid) => sell(paid, { clock: paymentClock ?? clock, ledger, methods, maintenance }),
    quoteLimit: ledger === null ? null : quoteLimit(quotesPerMinute),
    logger: null,
    accessLog: false,
    discovery: {
      publicUrl: PUBLIC_URL,
      docsViewer: readDocsViewer(),
      waysToPay: methods,
      ...(ledger !== null && { limits: { salesPerWallet: 20, quotesPerAddress: 60 } }),
    },
  })
  const close = async () => {
    await app.close()
    await ledger?.close()
  }
  return { app, clock, maintenance, methods, close }
}

async function sell(
  app: FastifyInstance,
  options: {
    readonly clock: Clock
    readonly ledger: SqliteLedger
    readonly methods: readonly PaymentMethod[]
    readonly maintenance: MaintenanceSwitch
  },
): Promise<void> {
  await app.register(payments, {
    ...options,
    publicUrl: PUBLIC_URL,
    newSecret,
    limits: {
      paidCallsPerWalletPerMinute: MANY,
      failedPaymentsPerAddressPerMinute: MANY,
      identicalFailuresPerMinute: MANY,
      repeatedPaymentsPerAddressPerMinute: MANY,
      unverifiedPaymentsPerAddressPerMinute: MANY,
      unverifiedPaymentsPerSecond: MANY,
    },
    closure: { isClosed: () => options.maintenance.isOn, retryAfterSeconds: 3_600 },
  })
}

/** Accepts every payment with a valid signature; discovery tests need no chain. */
const agreeable: Facilitator<ExactEvmPayment> = {
  verify: async () => ({ kind: 'valid' }),
  settle: async () => ({ kind: 'settled', transaction: `0x${'5'.repeat(64)}` }),
  outcome: async () => ({ kind: 'unused', asOfSeconds: 0 }),
}
