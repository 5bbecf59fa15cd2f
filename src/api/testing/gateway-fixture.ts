import type { FastifyInstance } from 'fastify'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { Document } from '../../domain/document.ts'
import { EngineReplica } from '../../link/engine-replica.ts'
import type { EngineMessage, FeedHealth } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import type { PaymentGate } from '../analysis-routes.ts'
import { MaintenanceSwitch } from '../maintenance-switch.ts'
import type { ServerOptions } from '../server.ts'
import { buildServer } from '../server.ts'
import {
  gatedLike,
  gatedLikeDocument,
  listing,
  pulseLike,
  pulseLikeDocument,
} from './pulse-like.ts'

export type GatewayFixture = {
  readonly app: FastifyInstance
  readonly clock: ManualClock
  readonly engine: EngineReplica
  readonly maintenance: MaintenanceSwitch
  tell(message: EngineMessage): void
}

export const FEED_UP: FeedHealth = { feed: 'venue', state: 'up', sinceMs: 0, reason: 'connected' }

/** A gateway whose engine has just told everything: BTC and kPEPE are ready, NEWCOIN is not. */
export function gatewayFixture(overrides: Partial<ServerOptions> = {}): GatewayFixture {
  const clock = new ManualClock()
  const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
  const maintenance = new MaintenanceSwitch(clock.nowMs())
  const app = buildServer({
    contracts: [pulseLike, gatedLike],
    engine,
    maintenance,
    clock,
    version: '0.1.0',
    exampleCoin: 'BTC',
    payment: null,
    quoteLimit: null,
    logger: null,
    accessLog: false,
    discovery: { publicUrl: 'https://api.example.com', waysToPay: [] },
    ...overrides,
  })
  const tell = (message: EngineMessage): void => engine.apply(message, clock.nowMs())
  const nowMs = clock.nowMs()
  tell({ kind: 'universe', listings: ['BTC', 'ETH', 'kPEPE', 'NEWCOIN'].map(listing) })
  tell({
    kind: 'documents',
    documents: ['BTC', 'kPEPE'].flatMap((coin): Document[] => [
      pulseLikeDocument({ coin, confirmedAtMs: nowMs }),
      gatedLikeDocument(coin, nowMs),
    ]),
  })
  tell({
    kind: 'heartbeat',
    heartbeat: { startedAtMs: nowMs, feeds: [FEED_UP], sources: [], store: STORE_OK, counts: {} },
  })
  return { app, clock, engine, maintenance, tell }
}

/** Quotes whoever brings no payment and lets everybody else pass, as the real gate does. */
export const quotingGate: PaymentGate = (app) => {
  app.addHook('preHandler', (request, reply, done) => {
    const { x402 } = request.routeOptions.config
    if (request.headers['x-payment'] !== undefined) done()
    else void reply.code(402).send({ x402Version: 1, price: x402?.priceUsdcAtomic.toString() })
  })
}
