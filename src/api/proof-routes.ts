import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AnswerProof, AnswerProofs, SealedHour } from '../domain/answer-proof.ts'
import type { Clock } from '../domain/clock.ts'
import { isoInstant } from '../domain/instant.ts'
import { compressAnswer } from './compress-answer.ts'
import { discoveryHeaders } from './response-headers.ts'
import { sendProblem, sendRefusal } from './send-problem.ts'
import { refuseParameters, unknownQueryParameter } from './unknown-parameter.ts'

const HOUR_MS = 3_600_000
/** Hours on a page: four weeks. */
const HOURS_MAX = 672
const SHA_256 = /^(?:0x)?([0-9a-f]{64})$/i

/** Free proof that an answer was sold, and in which hour: the tree of RFC 9162 over the answers of each hour. */
export function proofRoutes(
  app: FastifyInstance,
  { proofs, clock }: { readonly proofs: AnswerProofs; readonly clock: Clock },
): void {
  app.get('/proof', { onSend: compressAnswer }, (request, reply) => {
    const unknown = unknownQueryParameter(request.query, ['before'])
    if (unknown !== null) return sendRefusal(reply, unknown)
    const nowMs = clock.nowMs()
    const { before } = request.query as { readonly before?: unknown }
    const beforeMs = before === undefined ? nowMs : Date.parse(String(before))
    if (!Number.isFinite(beforeMs))
      return sendProblem(reply, 'invalid_parameter', {
        detail:
          'before is an instant such as 2026-01-31T12:00:00Z; take next_before_iso of the previous page.',
        param: 'before',
      })
    const hours = proofs.hours(beforeMs, HOURS_MAX, nowMs)
    const oldest = hours.length < HOURS_MAX ? undefined : hours.at(-1)
    return send(reply, 'no-store', {
      hours: hours.map(hourMembers),
      next_before_iso: oldest === undefined ? null : isoInstant(oldest.hourMs),
    })
  })

  app.get('/proof/:sha256', { onRequest: refuseParameters }, (request, reply) => {
    const [, digest] = SHA_256.exec((request.params as { sha256: string }).sha256) ?? []
    if (digest === undefined)
      return sendProblem(reply, 'invalid_parameter', {
        detail: 'sha256 is the SHA-256 of the body of an answer in 64 hexadecimal digits.',
        param: 'sha256',
      })
    const proof = proofs.proofOf(Buffer.from(digest, 'hex'), clock.nowMs())
    const caching = proof?.state === 'sealed' ? 'public, max-age=86400, immutable' : 'no-store'
    return send(reply, caching, { sha256: digest.toLowerCase(), ...proofMembers(proof) })
  })
}

function proofMembers(proof: AnswerProof | null) {
  if (proof === null) return { state: 'unknown' }
  if (proof.state === 'open')
    return { state: 'open', sealed_from_iso: isoInstant(proof.hourMs + HOUR_MS) }
  const { position, size, path } = proof.proof
  return {
    state: 'sealed',
    ...{ position, size, path: path.map(hex) },
    chain_before: hex(proof.before),
    ...hourMembers(proof.hour),
  }
}

function hourMembers({ hourMs, answers, root, chain }: SealedHour) {
  return { hour_iso: isoInstant(hourMs), answers, root: hex(root), chain: hex(chain) }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function send(reply: FastifyReply, cacheControl: string, body: unknown): void {
  void reply
    .type('application/json; charset=utf-8')
    .headers({
      ...discoveryHeaders,
      'cache-control': cacheControl,
      vary: 'Origin, Accept-Encoding',
    })
    .send(Buffer.from(JSON.stringify(body)))
}
