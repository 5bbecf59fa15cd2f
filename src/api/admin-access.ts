import { createHash, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'
import { callerKey } from '../payment/rate-limit.ts'
import { AdminSessions } from './admin-sessions.ts'
import { sendProblem } from './send-problem.ts'
import { WrongTokens } from './wrong-tokens.ts'

/** Of the token of the admin port. */
export const TOKEN_CHARS_MAX = 512

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route of the admin port that needs neither token nor session: it shows nothing of the service. */
    readonly isOpen?: true
  }
}

export const SESSION_COOKIE = 'perpscope_admin'
const LOOPBACK_HOST = /^(?:localhost|\[::1\]|(127\.[\d.]+))(?::\d{1,5})?$/i

export type AdminAccessOptions = {
  /** null where only programs of this machine reach the port. */
  readonly token: string | null
  readonly clock: Pick<Clock, 'nowMs'>
  /** 256 random bits as text. */
  readonly newSecret: () => string
}

/** `blocked`: too many wrong tokens came from the address. */
export type TokenVerdict = 'right' | 'wrong' | 'blocked'

/**
 * Access to the admin server. Without a token, local programs may use it and web pages may not: after DNS rebinding
 * `Host` is the name of their site, in a form or script `Origin` is. With a token, which every address but loopback
 * needs, programs present it as `Authorization: Bearer`, and browsers exchange it for the cookie of a session, which is
 * valid for the `Host` of the sign-in and, if it changes something, with the `Origin` of the port.
 */
export class AdminAccess {
  readonly #tokenDigest: Buffer | null
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #sessions: AdminSessions
  readonly #wrongTokens = new WrongTokens()

  constructor({ token, clock, newSecret }: AdminAccessOptions) {
    this.#tokenDigest = token === null ? null : digest(token)
    this.#clock = clock
    this.#sessions = new AdminSessions(newSecret)
  }

  get needsToken(): boolean {
    return this.#tokenDigest !== null
  }

  isGranted(request: FastifyRequest): boolean {
    return this.#refusal(request) === null
  }

  /** Whether a granted stream may go on: a token does not end, a session does. */
  isStillGranted(request: FastifyRequest): boolean {
    return !this.needsToken || bearerToken(request) !== undefined || this.#hasSession(request)
  }

  /** Checks a token that a browser presents for a session. */
  judge(token: string, address: string): TokenVerdict {
    const nowMs = this.#clock.nowMs()
    const caller = callerKey(address)
    if (this.#wrongTokens.blockedSeconds(caller, nowMs) > 0) return 'blocked'
    const expected = this.#tokenDigest
    if (expected !== null && timingSafeEqual(digest(token), expected)) return 'right'
    this.#wrongTokens.add(caller, nowMs)
    return 'wrong'
  }

  /** @returns seconds until a token of this address is read again; 0 if it is */
  blockedSeconds(address: string): number {
    return this.#wrongTokens.blockedSeconds(callerKey(address), this.#clock.nowMs())
  }

  /** @returns the value of the cookie */
  beginSession({ headers: { host = '' } }: FastifyRequest): string {
    return this.#sessions.begin(host, this.#clock.nowMs())
  }

  endSession(request: FastifyRequest): void {
    const name = sessionOf(request)
    if (name !== null) this.#sessions.end(name)
  }

  /** Hook `onRequest`. */
  readonly check = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const isOpen = this.needsToken && request.routeOptions.config.isOpen === true
    const refusal = isOpen ? this.#originRefusal(request) : this.#refusal(request)
    if (refusal === null) done()
    else if (typeof refusal === 'string') sendProblem(reply, 'not_found', { detail: refusal })
    else sendTokensBlocked(reply, refusal.blockedSeconds)
  }

  /** Why the request is refused; null if it is granted. */
  #refusal(request: FastifyRequest): string | { readonly blockedSeconds: number } | null {
    const elsewhere = this.#originRefusal(request)
    if (elsewhere !== null) return elsewhere
    if (!this.needsToken) return isLoopback(request.headers.host) ? null : LOOPBACK_ONLY
    const token = bearerToken(request)
    if (token !== undefined) {
      const verdict = this.judge(token, request.ip)
      if (verdict === 'blocked') return { blockedSeconds: this.blockedSeconds(request.ip) }
      return verdict === 'right' ? null : TOKEN_NEEDED
    }
    return this.#hasSession(request) ? null : TOKEN_NEEDED
  }

  /** Pages of other sites are refused whatever they present. */
  #originRefusal({ headers: { host, origin }, protocol }: FastifyRequest): string | null {
    if (origin === undefined || origin === `${protocol}://${host}`) return null
    return this.needsToken ? FOREIGN_ORIGIN : LOOPBACK_ONLY
  }

  /** Browsers send `Origin` with every request that changes something. */
  #hasSession(request: FastifyRequest): boolean {
    const { host = '', origin } = request.headers
    const name = sessionOf(request)
    if (name === null || !this.#sessions.isValid(name, host, this.#clock.nowMs())) return false
    return request.method === 'GET' || request.method === 'HEAD' || origin !== undefined
  }
}

const LOOPBACK_ONLY = 'This port serves loopback clients only, not pages of other sites.'
const TOKEN_NEEDED =
  'This port needs the admin token: Authorization: Bearer <token>, or a session from POST /session.'

const FOREIGN_ORIGIN =
  'The Origin is not that of this port. Behind a proxy with TLS, serve needs the address of the proxy in --trust-proxy.'

export function sendTokensBlocked(reply: FastifyReply, retryAfterSeconds: number): void {
  sendProblem(reply, 'rate_limited', {
    detail: `Too many wrong tokens came from this address. Retry in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  })
}

function isLoopback(host: string | undefined): boolean {
  const [named, address] = LOOPBACK_HOST.exec(host ?? '') ?? []
  // A resolver may look up an invalid address as a name.
  return named !== undefined && (address === undefined || isIPv4(address))
}

/** undefined also for another scheme, such as the Basic authorization of a proxy. */
function bearerToken({ headers: { authorization = '' } }: FastifyRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(authorization)?.[1]
}

/** The name of the session in the cookie; null without one. */
function sessionOf({ headers: { cookie } }: FastifyRequest): string | null {
  const pairs = (cookie ?? '').split(/; */)
  const pair = pairs.find((text) => text.startsWith(`${SESSION_COOKIE}=`))
  return pair?.slice(SESSION_COOKIE.length + 1) ?? null
}

/** Digests have one length, as a comparison in constant time requires. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
