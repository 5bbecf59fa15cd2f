import type { FastifyInstance } from 'fastify'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { Document } from '../../domain/document.ts'
import { EngineReplica } from '../../link/engine-replica.ts'
import type { EngineMessage, FeedHealth } from '../../link/message.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import type { PaymentGate } from '../analysis-routes.ts'
import { MaintenanceSwitch } from '../maintenance-switch.ts'
import { freeDocument } from '../send-document.ts'
import type { ServerOptions } from '../server.ts'
import { buildServer } from '../server.ts'
import {
  gatedLike,
  gatedLikeDocument,
  listing,
  pulseLike,
  pulseLikeDocument,
  trackRecordLike,
} from './pulse-like.ts'

export type GatewayFixture = {
  readonly app: FastifyInstance
  readonly clock: ManualClock
  readonly engine: EngineReplica
  readonly maintenance: MaintenanceSwitch
  deliver(message: EngineMessage): void
}

export const FEED_UP: FeedHealth = { feed: 'venue', state: 'up', sinceMs: 0, reason: 'connected' }

/** A gateway with documents of BTC and kPEPE; NEWCOIN is not ready. */
export function gatewayFixture(overrides: Partial<ServerOptions> = {}): GatewayFixture {
  const clock = new ManualClock()
  const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
  const maintenance = new MaintenanceSwitch(clock.nowMs())
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
    payment: null,
    quoteLimit: null,
    logger: null,
    accessLog: false,
    discovery: { publicUrl: 'https://api.example.com', waysToPay: [] },
    ...overrides,
  })
  const deliver = (message: EngineMessage): void => engine.apply(message, clock.nowMs())
  const nowMs = clock.nowMs()
  deliver({ kind: 'universe', listings: ['BTC', 'ETH', 'kPEPE', 'NEWCOIN'].map(listing) })
  deliver({
    kind: 'documents',
    documents: ['BTC', 'kPEPE'].flatMap((coin): Document[] => [
      pulseLikeDocument({ coin, confirmedAtMs: nowMs }),
      gatedLikeDocument(coin, nowMs),
    ]),
  })
  deliver({
    kind: 'heartbeat',
    heartbeat: { startedAtMs: nowMs, feeds: [FEED_UP], sources: [], store: STORE_OK, counts: {} },
  })
  return { app, clock, engine, maintenance, deliver }
}

/** Quotes unpaid calls and passes paid ones. */
export const quotingGate: PaymentGate = (app) => {
  app.addHook('preHandler', (request, reply, done) => {
    const { x402 } = request.routeOptions.config
    if (request.headers['x-payment'] !== undefined) done()
    else void reply.code(402).send({ x402Version: 1, price: x402?.priceUsdcAtomic.toString() })
  })
}
