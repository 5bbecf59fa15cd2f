import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendProblem } from './send-problem.ts'

/** Paths that probes of a container platform read without the token. */
const PROBES: readonly (string | undefined)[] = ['/livez', '/readyz']
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/**
 * Access to the admin server. Without a token, local programs may use it and web pages may not: after DNS rebinding
 * `Host` is the name of their site, in a form or script `Origin` is. With a token, which every address but loopback
 * needs, clients present it as `Authorization: Bearer`; probes get their verdict without it.
 */
export class AdminAccess {
  readonly #tokenDigest: Buffer | null

  constructor(token: string | null) {
    this.#tokenDigest = token === null ? null : digest(token)
  }

  isGranted({ headers: { host, origin, authorization } }: FastifyRequest): boolean {
    if (origin !== undefined && origin !== `http://${host}`) return false
    if (this.#tokenDigest === null) return host !== undefined && LOOPBACK_HOST.test(host)
    const [, token] = /^Bearer (\S+)$/i.exec(authorization ?? '') ?? []
    return token !== undefined && timingSafeEqual(digest(token), this.#tokenDigest)
  }

  /** Hook `onRequest`. */
  readonly check = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const isProbe = this.#tokenDigest !== null && PROBES.includes(request.routeOptions.url)
    if (isProbe || this.isGranted(request)) {
      done()
      return
    }
    if (this.#tokenDigest === null)
      sendProblem(reply, 'not_found', {
        detail: 'This port serves loopback clients only, not pages of other sites.',
      })
    else
      sendProblem(reply, 'not_found', {
        detail: 'This port needs the admin token: Authorization: Bearer <token>.',
      })
  }
}

/** Digests have one length, as a comparison in constant time requires. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
