import type { FastifyReply, FastifyRequest } from 'fastify'
import { BoundedMap } from '../domain/bounded-map.ts'
import type { Clock } from '../domain/clock.ts'
import { dayStartMs, isoInstant } from '../domain/instant.ts'
import type { ClaimFamily, StoredClaim } from '../domain/track-record.ts'
import type { Refusal } from './send-problem.ts'
import { refusal, sendProblem, sendRefusal } from './send-problem.ts'
import { unknownQueryParameter } from './unknown-parameter.ts'

/** Reads the resolved claims of one family and day. */
export type ClaimsOf = (family: ClaimFamily, dayMs: number) => readonly StoredClaim[]

const CLAIMS_PER_PAGE = 1_000
/** The pages of a day are read from disk at most once in this time. */
const REREAD_MS = 60_000
/** Days of a family in memory: each has a few thousand claims and some megabytes. */
const DAYS_KEPT_MAX = 4
const WHOLE = /^\d{1,9}$/

type ReadDay = { readonly atMs: number; readonly claims: readonly StoredClaim[] }

/** Pages with every claim of one family and day, for callers who compute the record again. */
export class ClaimPages {
  readonly #claimsOf: ClaimsOf | null
  readonly #clock: Clock
  readonly #days = new BoundedMap<string, ReadDay>(DAYS_KEPT_MAX)

  /** @param claimsOf null where the history is on another machine */
  constructor(claimsOf: ClaimsOf | null, clock: Clock) {
    this.#claimsOf = claimsOf
    this.#clock = clock
  }

  send({ query }: FastifyRequest, reply: FastifyReply, family: ClaimFamily): void {
    const asked = pageOf(query)
    if ('kind' in asked) sendRefusal(reply, asked)
    else if (this.#claimsOf === null)
      sendProblem(reply, 'not_found', {
        detail: 'This gateway has no history: single claims are on the machine of the engine.',
      })
    else {
      const claims = this.#claims(this.#claimsOf, family, asked.dayMs)
      const following = claims.filter(({ sequence }) => sequence > asked.after)
      const page = following.slice(0, CLAIMS_PER_PAGE)
      void reply.headers({ 'cache-control': 'public, max-age=60', vary: 'Origin' }).send({
        family,
        day: isoInstant(asked.dayMs).slice(0, 10),
        total: claims.length,
        claims: page,
        next_after: page.length === following.length ? null : page.at(-1)?.sequence,
      })
    }
  }

  #claims(claimsOf: ClaimsOf, family: ClaimFamily, dayMs: number): readonly StoredClaim[] {
    const name = `${family} ${dayMs}`
    const nowMs = this.#clock.nowMs()
    const kept = this.#days.get(name)
    const ageMs = nowMs - (kept?.atMs ?? Number.NaN)
    if (kept !== undefined && ageMs >= 0 && ageMs < REREAD_MS) return kept.claims
    const claims = claimsOf(family, dayMs)
    this.#days.set(name, { atMs: nowMs, claims })
    return claims
  }
}

function pageOf(query: unknown): Refusal | { readonly dayMs: number; readonly after: number } {
  const unknown = unknownQueryParameter(query, ['day', 'after'])
  if (unknown !== null) return unknown
  const { day, after = '-1' } = query as { readonly day?: unknown; readonly after?: unknown }
  const dayMs = typeof day === 'string' ? dayStartMs(day) : null
  if (dayMs === null)
    return refusal('invalid_parameter', {
      detail: 'day is a date, UTC, such as 2026-01-31.',
      param: 'day',
    })
  if (typeof after !== 'string' || !(after === '-1' || WHOLE.test(after)))
    return refusal('invalid_parameter', {
      detail: 'after is the next_after of the page before.',
      param: 'after',
    })
  return { dayMs, after: Number(after) }
}
