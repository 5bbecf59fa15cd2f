import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { isoInstant } from '../domain/instant.ts'
import type { ClaimFamily, StoredClaim } from '../domain/track-record.ts'
import { callerKey, localRateLimits } from '../payment/rate-limit.ts'
import { sendProblem, sendRefusal } from './send-problem.ts'
import { unknownQueryParameter } from './unknown-parameter.ts'

/** Reads the resolved claims of one family and day. */
export type ClaimsOf = (family: ClaimFamily, dayMs: number) => readonly StoredClaim[]

const CLAIMS_PER_PAGE = 1_000
/** The pages of a day are read from disk at most once in this time. */
const REREAD_MS = 60_000
const PAGES_PER_MINUTE = 60
const DAY = /^\d{4}-\d{2}-\d{2}$/
const WHOLE = /^\d{1,9}$/

/** Pages with every claim of one family and day, for callers who compute the record again. */
export class ClaimPages {
  readonly #claimsOf: ClaimsOf | null
  readonly #clock: Clock
  readonly #limit = localRateLimits('claims', PAGES_PER_MINUTE)
  #read: { readonly name: string; readonly atMs: number; readonly claims: readonly StoredClaim[] }

  /** @param claimsOf null where the history is on another machine */
  constructor(claimsOf: ClaimsOf | null, clock: Clock) {
    this.#claimsOf = claimsOf
    this.#clock = clock
    this.#read = { name: '', atMs: Number.NEGATIVE_INFINITY, claims: [] }
  }

  async send(request: FastifyRequest, reply: FastifyReply, family: ClaimFamily): Promise<void> {
    const allowance = await this.#limit.take(callerKey(request.ip))
    void reply.headers(this.#limit.headers(allowance))
    if (!allowance.allowed)
      return sendProblem(reply, 'rate_limited', {
        detail: `Too many pages of claims. Try again in ${allowance.resetSeconds} s.`,
        retryAfterSeconds: allowance.resetSeconds,
      })
    const unknown = unknownQueryParameter(request.query, ['day', 'after'])
    if (unknown !== null) return sendRefusal(reply, unknown)
    const { day, after = '-1' } = request.query as {
      readonly day?: unknown
      readonly after?: unknown
    }
    const dayMs = typeof day === 'string' && DAY.test(day) ? Date.parse(day) : Number.NaN
    if (Number.isNaN(dayMs))
      return sendProblem(reply, 'invalid_parameter', {
        detail: 'day is a date, UTC, such as 2026-01-31.',
        param: 'day',
      })
    if (typeof after !== 'string' || !(after === '-1' || WHOLE.test(after)))
      return sendProblem(reply, 'invalid_parameter', {
        detail: 'after is the next_after of the page before.',
        param: 'after',
      })
    if (this.#claimsOf === null)
      return sendProblem(reply, 'not_found', {
        detail: 'This gateway has no history: single claims are on the machine of the engine.',
      })
    const claims = this.#claims(this.#claimsOf, family, dayMs)
    const page = claims.filter(({ sequence }) => sequence > Number(after)).slice(0, CLAIMS_PER_PAGE)
    const last = page.at(-1)
    const isLast = last === undefined || last.sequence === claims.at(-1)?.sequence
    void reply.header('cache-control', 'public, max-age=60').send({
      family,
      day: isoInstant(dayMs).slice(0, 10),
      total: claims.length,
      claims: page,
      next_after: isLast ? null : last.sequence,
    })
  }

  #claims(claimsOf: ClaimsOf, family: ClaimFamily, dayMs: number): readonly StoredClaim[] {
    const name = `${family} ${dayMs}`
    const nowMs = this.#clock.nowMs()
    const ageMs = nowMs - this.#read.atMs
    if (this.#read.name !== name || ageMs < 0 || ageMs >= REREAD_MS)
      this.#read = { name, atMs: nowMs, claims: claimsOf(family, dayMs) }
    return this.#read.claims
  }
}
