import type { FastifyInstance, FastifyReply } from 'fastify'
import type {
  AnswerProof,
  AnswerProofs,
  HourAnchor,
  HoursBefore,
  SealedHour,
} from '../domain/answer-proof.ts'
import { SEALED_AFTER_MS } from '../domain/answer-proof.ts'
import { dayStartMs, isoInstant } from '../domain/instant.ts'
import { compressAnswer } from './compress-answer.ts'
import { limitCallers } from './limit-callers.ts'
import { discoveryHeaders } from './response-headers.ts'
import { sendProblem, sendRefusal } from './send-problem.ts'
import { refuseParameters, unknownQueryParameter } from './unknown-parameter.ts'

const HOUR_MS = 3_600_000
/** Hours on a page: four weeks. */
const HOURS_MAX = 672
/** Of an address: each builds the tree of its hour again. */
const PROOFS_PER_MINUTE = 60
const SHA_256 = /^(?:0x)?([0-9a-f]{64})$/i

const NUMBER = /^[1-9]\d{0,14}$/
/** `Date.parse` takes more, such as 0 for a year. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/

/** Free proof that an answer was sold or a claim made, and in which hour: the tree of RFC 9162 over the leaves of each hour. */
export function proofRoutes(app: FastifyInstance, proofs: AnswerProofs): void {
  const limit = limitCallers('proofs', PROOFS_PER_MINUTE, 'proofs')
  app.get('/proof', { onRequest: limit, onSend: compressAnswer }, async (request, reply) => {
    const unknown = unknownQueryParameter(request.query, ['before'])
    if (unknown !== null) return refuse(reply, () => sendRefusal(reply, unknown))
    const before = beforeOf((request.query as { readonly before?: unknown }).before)
    if (before === undefined)
      return refuse(reply, () =>
        sendProblem(reply, 'invalid_parameter', {
          detail:
            'before is a number of an hour, or an instant such as 2026-01-31T12:00:00Z; take next_before of the previous page.',
          param: 'before',
        }),
      )
    const hours = await proofs.hours(before, HOURS_MAX)
    const oldest = hours.length < HOURS_MAX ? undefined : hours.at(-1)
    return send(reply, 'no-store', {
      hours: hours.map(hourMembers),
      next_before: oldest?.number ?? null,
      next_before_iso: oldest === undefined ? null : isoInstant(oldest.hourMs),
    })
  })

  app.get('/proof/:sha256', { onRequest: [limit, refuseParameters] }, async (request, reply) => {
    const [, digest] = SHA_256.exec((request.params as { sha256: string }).sha256) ?? []
    if (digest === undefined)
      return refuse(reply, () =>
        sendProblem(reply, 'invalid_parameter', {
          detail:
            'sha256 is the SHA-256 of the body of an answer, or of a claim, in 64 hexadecimal digits.',
          param: 'sha256',
        }),
      )
    const proof = await proofs.proofOf(Buffer.from(digest, 'hex'))
    const isFinal = proof?.state === 'sealed' && proof.anchor !== null
    const caching = isFinal
      ? 'public, max-age=86400, immutable'
      : proof?.state === 'sealed'
        ? 'public, max-age=3600'
        : 'no-store'
    return send(reply, caching, { sha256: digest.toLowerCase(), ...proofMembers(proof) })
  })
}

/** @returns undefined for another value */
function beforeOf(value: unknown): HoursBefore | undefined {
  if (value === undefined) return null
  if (typeof value === 'string' && NUMBER.test(value)) return { number: Number(value) }
  if (typeof value !== 'string' || !INSTANT.test(value)) return undefined
  if (dayStartMs(value.slice(0, 10)) === null) return undefined
  const hourMs = Date.parse(value)
  return Number.isFinite(hourMs) ? { hourMs } : undefined
}

function proofMembers(proof: AnswerProof | null) {
  if (proof === null) return { state: 'unknown' }
  const { kind } = proof
  if (proof.state === 'open')
    return {
      state: 'open',
      kind,
      sealed_from_iso: isoInstant(proof.hourMs + HOUR_MS + SEALED_AFTER_MS),
    }
  const { position, size, path } = proof.proof
  return {
    ...{ state: 'sealed', kind },
    ...{ position, size, path: path.map(hex) },
    chain_before: hex(proof.before),
    ...hourMembers(proof.hour),
    anchor: proof.anchor && anchorMembers(proof.anchor),
  }
}

function hourMembers({ number, hourMs, answers, claims, root, chain }: SealedHour) {
  return {
    ...{ number, hour_iso: isoInstant(hourMs), answers, claims },
    ...{ root: hex(root), chain: hex(chain) },
  }
}

function anchorMembers({ network, transaction, chain, following }: HourAnchor) {
  return {
    ...{ network, transaction, chain: hex(chain) },
    following: following.map(({ hourMs, root }) => ({
      ...{ hour_iso: isoInstant(hourMs), root: hex(root) },
    })),
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function refuse(reply: FastifyReply, refusal: () => void): FastifyReply {
  refusal()
  return reply
}

function send(reply: FastifyReply, cacheControl: string, body: unknown): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .headers({
      ...discoveryHeaders,
      'cache-control': cacheControl,
      vary: 'Origin, Accept-Encoding',
    })
    .send(Buffer.from(JSON.stringify(body)))
}
