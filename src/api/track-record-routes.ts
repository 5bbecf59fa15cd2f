import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import type { DocumentContract } from '../domain/contract.ts'
import { keyOf } from '../domain/contract.ts'
import type { Answer } from '../domain/document.ts'
import { viewOf, WHOLE_MARKET } from '../domain/document.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import { claimFamilies } from '../domain/track-record.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { ClaimsOf } from './claim-pages.ts'
import { ClaimPages } from './claim-pages.ts'
import { fillDocument } from './fill-document.ts'
import { limitCallers } from './limit-callers.ts'
import type { FreeDocument } from './send-document.ts'
import { freeDocument, sendDocument } from './send-document.ts'
import { sendProblem } from './send-problem.ts'
import { refuseParameters } from './unknown-parameter.ts'

export type TrackRecordRouteOptions = {
  /** Contract of the document that the engine renders. */
  readonly trackRecord: DocumentContract
  /** Single claims; null where the history is on another machine. */
  readonly claimsOf: ClaimsOf | null
  readonly engine: EngineReader
  readonly clock: Clock
}

const JSON_TYPE = 'application/json; charset=utf-8'
const RETRY_SECONDS = 15
const PAGES_PER_MINUTE = 60
const GRAVEYARD = 'graveyard'

/** The free paths of the track record, from the document that the engine renders every minute. */
export function trackRecordRoutes(app: FastifyInstance, options: TrackRecordRouteOptions): void {
  const { trackRecord } = options
  const found = new WeakMap<Answer, FreeDocument>()
  const send = (request: FastifyRequest, reply: FastifyReply, view: string) => {
    const document = options.engine.document(keyOf(trackRecord, WHOLE_MARKET))
    const answer = document && viewOf(document, view)
    if (document === undefined || answer?.kind !== 'answer') {
      sendProblem(reply, 'data_stale', {
        detail: 'The track record has not been computed yet.',
        retryAfterSeconds: RETRY_SECONDS,
      })
      return
    }
    const facts = { nowMs: options.clock.nowMs(), executionMs: 0, coinsAvailable: 0 }
    const shown =
      found.get(answer) ?? freeDocument(JSON_TYPE, fillDocument(document, answer, facts))
    found.set(answer, shown)
    sendDocument(request, reply, shown, { cacheControl: 'public, max-age=60' })
  }

  app.get('/track-record', { onRequest: refuseParameters }, (request, reply) =>
    send(request, reply, trackRecord.defaultView),
  )

  app.get('/track-record/:family', { onRequest: refuseParameters }, (request, reply) => {
    const { family } = request.params as { readonly family: string }
    const views = [...claimFamilies, GRAVEYARD]
    if (views.includes(family)) send(request, reply, family)
    else refuseFamily(reply, family, views)
  })

  const pages = new ClaimPages(options.claimsOf, options.clock)
  const onRequest = limitCallers('claims', PAGES_PER_MINUTE, 'pages of claims')
  app.get('/track-record/:family/claims', { onRequest }, async (request, reply) => {
    const { family: name } = request.params as { readonly family: string }
    const family = claimFamilies.find((one) => one === name)
    if (family === undefined) refuseFamily(reply, name, claimFamilies)
    else pages.send(request, reply, family)
    return reply
  })
}

function refuseFamily(reply: FastifyReply, family: string, known: readonly string[]): void {
  sendProblem(reply, 'not_found', {
    detail: 'No family of estimates has this name.',
    param: 'family',
    allowed: known,
    didYouMean: nearestNames(family, known),
  })
}
