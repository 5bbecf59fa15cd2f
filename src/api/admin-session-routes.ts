import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errorCodes } from 'fastify'
import { isRecord } from '../domain/json.ts'
import type { AdminAccess } from './admin-access.ts'
import { SESSION_COOKIE, sendTokensBlocked, TOKEN_CHARS_MAX } from './admin-access.ts'
import { SESSION_MS } from './admin-sessions.ts'
import { sendProblem } from './send-problem.ts'

/**
 * Sign-in of browsers, which cannot send `Authorization`: the token in the body of a POST is exchanged for a cookie that
 * scripts cannot read and other sites cannot use.
 */
export function adminSessionRoutes(app: FastifyInstance, access: AdminAccess): void {
  app.get('/session', { config: { isOpen: true } }, (request) => ({
    required: access.needsToken,
    granted: access.isGranted(request),
  }))

  app.post('/session', { config: { isOpen: true } }, async (request, reply) => {
    if (!isSignIn(request.body)) throw new errorCodes.FST_ERR_VALIDATION()
    if (!access.needsToken) return reply.send({ required: false, granted: true })
    const verdict = access.judge(request.body.token, request.ip)
    if (verdict === 'blocked') return sendTokensBlocked(reply, access.blockedSeconds(request.ip))
    if (verdict === 'wrong') {
      request.log.warn({ address: request.ip }, 'sign-in with a wrong admin token')
      return sendProblem(reply, 'not_found', { detail: 'The admin token is wrong.' })
    }
    return reply
      .header('set-cookie', cookie(request, access.beginSession(request), SESSION_MS))
      .send({ required: true, granted: true })
  })

  app.post('/session/end', { config: { isOpen: true } }, (request, reply) => {
    access.endSession(request)
    return reply
      .header('set-cookie', cookie(request, '', 0))
      .send({ required: access.needsToken, granted: !access.needsToken })
  })
}

function isSignIn(body: unknown): body is { readonly token: string } {
  if (!isRecord(body)) return false
  const { token, ...others } = body
  const isShort = typeof token === 'string' && [...token].length <= TOKEN_CHARS_MAX
  return isShort && Object.keys(others).length === 0
}

/** `Secure` where a trusted proxy reports TLS; a browser would not return it over plain HTTP. */
function cookie({ protocol }: FastifyRequest, value: string, maxAgeMs: number): string {
  const secure = protocol === 'https' ? '; Secure' : ''
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAgeMs / 1_000}; HttpOnly; SameSite=Strict${secure}`
}
