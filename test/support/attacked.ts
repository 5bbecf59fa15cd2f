import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { PrivateKeyAccount } from 'viem/accounts'
import { MaintenanceSwitch } from '../../src/api/maintenance-switch.ts'
import { freeDocument } from '../../src/api/send-document.ts'
import { buildServer } from '../../src/api/server.ts'
import { FEED_UP } from '../../src/api/testing/gateway-fixture.ts'
import {
  gatedLike,
  gatedLikeDocument,
  listing,
  pulseLike,
  pulseLikeDocument,
  trackRecordLike,
} from '../../src/api/testing/pulse-like.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Document } from '../../src/domain/document.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import { STORE_OK } from '../../src/link/testing/store-ok.ts'
import type { ExactEvmPayment } from '../../src/payment/evm/exact-evm.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../../src/payment/evm/local-facilitator.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import { decodeEnvelope } from '../../src/payment/payload.ts'
import type { Facilitator, Payment, PaymentMethod } from '../../src/payment/payment.ts'
import type { PaymentEvent } from '../../src/payment/payment-event.ts'
import type { PaymentOptions } from '../../src/payment/plugin.ts'
import { payments } from '../../src/payment/plugin.ts'
import { quoteLimit } from '../../src/payment/quote-limit.ts'
import type { SalesReadiness } from '../../src/payment/sales-readiness.ts'
import { termsOf } from '../../src/payment/terms.ts'
import type { PaymentChoices } from '../../src/payment/testing/buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { newSecret } from '../../src/payment/testing/new-secret.ts'
import type { PaidHost, PaidHostOptions } from '../../src/payment/testing/paid-host.ts'
import { startPaidHost } from '../../src/payment/testing/paid-host.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { ManualClock } from './manual-clock.ts'
import { promptClock } from './prompt-clock.ts'
import { putUsdc } from './usdc-balance.ts'

/** Initial balance of a buyer, in millionths of a USDC. */
export const FUNDS = 1_000_000n
export const PULSE_PRICE = pulseLike.priceUsdcAtomic
/** Text that occurs in every sold answer of the gateway and in no other response. */
export const SOLD = '"rsi_14"'
const PUBLIC_URL = 'https://api.example.com'

/** A chain with its own facilitator; hosts and gateways opened here are closed with it. */
export type Ground = {
  readonly chain: EvmChain
  readonly facilitator: Facilitator<ExactEvmPayment>
  fundedBuyer(funds?: bigint): Promise<PrivateKeyAccount>
  /** A payment header whose signature over the chosen values is valid. */
  paymentOf(buyer: PrivateKeyAccount, choices?: PaymentWish): Promise<string>
  /** How much of the initial `FUNDS` a buyer has spent. */
  spent(buyer: PrivateKeyAccount): Promise<bigint>
  /** The payment plugin alone; its handlers count their runs. */
  host(options?: Partial<PaidHostOptions>): Promise<PaidHost>
  /** The public server with the payment plugin, assembled as by `serve`. */
  gateway(options?: GatewayOptions): Promise<Gateway>
  /** The payment of a header as a facilitator receives it. */
  read(header: string, amount: bigint): ExactEvmPayment & Payment
  close(): Promise<void>
}

type PaymentWish = Partial<PaymentChoices>

type GatewayOptions = {
  readonly facilitator?: Facilitator<ExactEvmPayment>
  readonly ledgerPath?: string
  readonly limits?: PaymentOptions['limits']
  readonly quotesPerMinute?: number
  /** Replaces `wallClock`, which does not advance by itself. */
  readonly paymentClock?: Clock
  /** Replaces `exact` on Base with that facilitator. */
  readonly methods?: readonly PaymentMethod[]
  /** Readiness checks of sales; none if absent. */
  readonly checked?: (of: {
    readonly ledger: SqliteLedger
    readonly methods: readonly PaymentMethod[]
  }) => SalesReadiness
}

export type Gateway = {
  readonly app: FastifyInstance
  readonly url: string
  /** Clock for ages and deadlines. */
  readonly clock: ManualClock
  /** Wall clock, against which payments are validated. */
  readonly wallClock: ManualClock
  readonly engine: EngineReplica
  readonly maintenance: MaintenanceSwitch
  readonly ledger: SqliteLedger
  readonly events: readonly PaymentEvent[]
  /** The engine renders all documents again at the current time. */
  render(version: number): void
  /** The engine sends a heartbeat and nothing else. */
  beat(): void
  close(): Promise<void>
}

export async function startGround(): Promise<Ground> {
  const chain = await startEvmChain({ clock: systemClock })
  const payTo = chain.accounts.merchant.address
  const facilitator = localFacilitator({
    network: base,
    rpcUrl: chain.rpcUrl,
    privateKey: chain.accounts.facilitator.privateKey,
    clock: promptClock,
  })
  const opened: { close(): Promise<void> }[] = []
  const kept = <T extends { close(): Promise<void> }>(thing: T): T => {
    opened.push(thing)
    return thing
  }
  return {
    chain,
    facilitator,
    async fundedBuyer(funds = FUNDS) {
      const buyer = newBuyer()
      await putUsdc(chain, buyer.address, funds)
      return buyer
    },
    async paymentOf(buyer, choices = {}) {
      const nowMs = systemClock.nowMs()
      const amount = PULSE_PRICE
      return encodedPayment(await signedPayload(buyer, { amount, payTo, nowMs, ...choices }))
    },
    spent: async (buyer) => FUNDS - (await chain.balanceOf(buyer.address)),
    host: async (options = {}) =>
      kept(
        await startPaidHost({
          payTo,
          facilitator,
          clock: new ManualClock(systemClock.nowMs()),
          ...options,
        }),
      ),
    gateway: async (options = {}) => kept(await startGateway(payTo, { facilitator, ...options })),
    read(header, amount) {
      const method = exactEvm({ network: base, payTo, facilitator })
      const route = { priceUsdcAtomic: amount, description: 'pulse' }
      const [requirement] = termsOf(route, [method]).requirements
      if (requirement === undefined) throw new TypeError('there is one method')
      return method.read(decodeEnvelope(header).payload, { requirement, resourceUrl: PUBLIC_URL })
    },
    async close() {
      for (const thing of opened.splice(0).reverse()) await thing.close()
      await chain.close()
    },
  }
}

async function startGateway(
  payTo: string,
  options: GatewayOptions & { readonly facilitator: Facilitator<ExactEvmPayment> },
): Promise<Gateway> {
  const { facilitator, ledgerPath = ':memory:', limits, quotesPerMinute = 10_000 } = options
  const clock = new ManualClock(systemClock.nowMs())
  const wallClock = new ManualClock(clock.nowMs())
  const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
  const maintenance = new MaintenanceSwitch(clock.nowMs())
  const ledger = new SqliteLedger(ledgerPath)
  const events: PaymentEvent[] = []
  const methods = options.methods ?? [exactEvm({ network: base, payTo, facilitator })]
  const sales = options.checked?.({ ledger, methods }) ?? null
  const app = buildServer({
    console: null,
    contracts: [pulseLike, gatedLike],
    engine,
    maintenance,
    clock,
    version: '0.1.0',
    status: { document: freeDocument('application/json; charset=utf-8', '{}') },
    exampleCoin: 'BTC',
    trackRecord: trackRecordLike,
    claimsOf: null,
    payment: async (paid) => {
      await paid.register(payments, {
        methods,
        ledger,
        clock: options.paymentClock ?? wallClock,
        publicUrl: PUBLIC_URL,
        newSecret,
        limits: {
          paidCallsPerWalletPerMinute: 1_000,
          failedPaymentsPerAddressPerMinute: 1_000,
          identicalFailuresPerMinute: 1_000,
          repeatedPaymentsPerAddressPerMinute: 1_000,
          unverifiedPaymentsPerAddressPerMinute: 1_000,
          unverifiedPaymentsPerSecond: 1_000,
          ...limits,
        },
        closure: { isClosed: () => maintenance.isOn, retryAfterSeconds: 3_600 },
        onEvent: (event) => {
          events.push(event)
          sales?.record(event)
        },
      })
    },
    ...(sales !== null && {
      readiness: {
        isClockOff: () =>
          sales.checks().some(({ check, fault }) => check === 'clock' && fault !== null),
        sales,
      },
    }),
    quoteLimit: quoteLimit(quotesPerMinute),
    logger: null,
    accessLog: false,
    discovery: { publicUrl: PUBLIC_URL, waysToPay: [] },
  })
  const beat = () =>
    engine.apply(
      {
        kind: 'heartbeat',
        heartbeat: {
          startedAtMs: clock.nowMs(),
          feeds: [FEED_UP],
          sources: [],
          store: STORE_OK,
          counts: {},
        },
      },
      clock.nowMs(),
    )
  const render = (version: number) => {
    const confirmedAtMs = clock.nowMs()
    const documents = ['BTC', 'ETH'].flatMap((coin): Document[] => [
      pulseLikeDocument({ coin, confirmedAtMs, version }),
      { ...gatedLikeDocument(coin, confirmedAtMs), version },
    ])
    engine.apply({ kind: 'documents', documents }, confirmedAtMs)
    beat()
  }
  engine.apply({ kind: 'universe', listings: ['BTC', 'ETH'].map(listing) }, clock.nowMs())
  render(1)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    url,
    clock,
    wallClock,
    engine,
    maintenance,
    ledger,
    events,
    render,
    beat,
    close: async () => {
      // Keep-alive connections of a failed test must not delay the next test.
      app.server.closeAllConnections()
      await app.close()
      await ledger.close()
    },
  }
}

/** Writes raw bytes, which no client library allows, and collects the reply until the server closes the socket. */
export function rawExchange(url: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const { port, hostname } = new URL(url)
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    // A reset ends the reply like a close.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
    socket.write(bytes)
  })
}

/** A raw request with `Connection: close`. */
export function requestOf(requestLine: string, ...headers: readonly string[]): string {
  return [requestLine, 'Host: api.example.com', 'Connection: close', ...headers, '', ''].join(
    '\r\n',
  )
}

/** Status codes of all responses in the reply, in order. */
export function statusesIn(replies: string): number[] {
  return [...replies.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}
