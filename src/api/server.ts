import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify, { LogController } from 'fastify'
import type { AnalysisContract } from '../domain/contract.ts'
import { requestPath } from '../payment/resource.ts'
import { a2aRoutes } from './a2a/a2a-routes.ts'
import type { AnalysisRoutesOptions } from './analysis-routes.ts'
import { analysisRoutes } from './analysis-routes.ts'
import { refuseBrokenRequest } from './broken-request.ts'
import { endConnectionsWithTheirCalls, limitConnections } from './connections.ts'
import { discoveryRoutes } from './discovery/discovery-routes.ts'
import type { ServiceFacts } from './discovery/service-facts.ts'
import type { Defer } from './fair-queue.ts'
import { FairQueue } from './fair-queue.ts'
import type { FreeRoutesOptions } from './free-routes.ts'
import { freeRoutes } from './free-routes.ts'
import { JSON_RPC_CALLS_MAX } from './json-rpc-scope.ts'
import { KnownPaths } from './known-paths.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { headRefusal } from './request-head.ts'
import { crossOriginHeaders, preflightHeaders, securityHeaders } from './response-headers.ts'
import { sendProblem } from './send-problem.ts'
import { unknownPath } from './true-path.ts'

export type ServerOptions = AnalysisRoutesOptions &
  FreeRoutesOptions & {
    /** null writes nothing at all. */
    readonly logger: FastifyBaseLogger | null
    /** Without it the caller is whoever connects, whatever a header says. */
    readonly trustProxy?: ProxyTrust
    /** One line per request. */
    readonly accessLog: boolean
    /** Lets the event loop turn between two pieces of work of one caller; without it they follow at once. */
    readonly defer?: Defer
    /** What the published documents say beyond the contracts. */
    readonly discovery: Pick<
      ServiceFacts,
      'publicUrl' | 'waysToPay' | 'limits' | 'receiptSigner' | 'docsViewer' | 'contactEmail'
    >
  }

const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
const CONNECTIONS_CHECK_MS = 1_000
/** Above the 60 s for which proxies keep an idle connection to us, else they race with our close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/**
 * Longer than the longest sale. A caller that reads nothing for so long of what was sent to it is gone, or wants
 * no other to get a connection.
 */
const SILENT_TIMEOUT_MS = 120_000
/** A payment of a smart wallet or on Solana alone can take several kilobytes. */
const HEADER_BYTES_MAX = 16_384

/** The public server, complete but not listening. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const nextRequestId = requestIds(options.clock.nowMs())
  const app = Fastify({
    ...(options.logger === null ? { logger: false } : { loggerInstance: options.logger }),
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'request_id',
    }),
    genReqId: nextRequestId,
    ...(options.trustProxy === undefined ? {} : { trustProxy: trusted(options.trustProxy) }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: SILENT_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Refused below, with a problem as its body.
      requireHostHeader: false,
    },
    /** While closing, what still arrives on an open connection is answered, and the connection closed. */
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      // A ticker's length is a parameter check and has its place behind maintenance; the header limit
      // bounds what the router sees.
      maxParamLength: HEADER_BYTES_MAX,
    },
    clientErrorHandler: (error, socket) => refuseBrokenRequest(error, socket, nextRequestId()),
    frameworkErrors: (error, request, reply) => {
      // These arise before routing, so no hook runs for them.
      setCommonHeaders(request, reply)
      if (error.code === 'FST_ERR_BAD_URL') refuseMalformedUrl(reply)
      else refuseUnknownPath(options.contracts, request, reply)
    },
  })
  endConnectionsWithTheirCalls(app)

  const paths = new KnownPaths()
  app.addHook('onRoute', ({ url, method }) => paths.add(url, method))
  app.addHook('onRequest', (request, reply, done) => {
    // Before everything else, so that no later hook mistakes them for a part of one answer.
    setCommonHeaders(request, reply)
    const refused = headRefusal(request.raw)
    if (refused === null) done()
    else sendProblem(reply, refused.code, refused.facts)
  })
  const defer: Defer = options.defer ?? ((task) => task())
  limitConnections(app, { proxies: options.trustProxy, defer })
  app.addHook('onRequest', (request, reply, done) => {
    // Here rather than in the not-found handler, which would read a body first.
    if (request.is404) refuseUnrouted(options.contracts, paths, request, reply)
    else done()
  })
  if (options.accessLog) app.addHook('onResponse', logAccess)
  app.setNotFoundHandler((request, reply) =>
    refuseUnrouted(options.contracts, paths, request, reply),
  )
  app.setErrorHandler((error, request, reply) => {
    request.log.error({ err: error }, 'request failed')
    sendProblem(reply, 'internal_error', {
      detail: 'Something went wrong on our side; the request can be repeated.',
    })
  })

  freeRoutes(app, options)
  discoveryRoutes(app, { ...options, ...options.discovery })
  const calls = new FairQueue(JSON_RPC_CALLS_MAX, defer)
  mcpRoutes(app, { ...options, ...options.discovery }, calls)
  a2aRoutes(app, { ...options, ...options.discovery }, calls)
  // Registered, so that the hooks of the payment stay with the routes that they are for.
  void app.register((paid, _, done) => {
    analysisRoutes(paid, options).then(() => done(), done)
  })
  return app
}

/** Fastify takes no number any more: it cannot tell whether the first hop is the proxy. We are told so. */
function trusted(proxies: ProxyTrust): string[] | ((address: string, hop: number) => boolean) {
  return typeof proxies === 'number' ? (_address, hop) => hop < proxies : [...proxies]
}

/** A page, of which there are two, adds a policy of its own. */
function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders)
  if (request.headers.origin !== undefined) reply.headers(crossOriginHeaders)
}

/** No route takes this method and path: a preflight, a wrong method, or a path that does not exist. */
function refuseUnrouted(
  contracts: readonly AnalysisContract[],
  paths: KnownPaths,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const methods = paths.methodsOf(requestPath(request.url))
  if (methods.length === 0) {
    refuseUnknownPath(contracts, request, reply)
    return
  }
  const allow = methods.join(', ')
  reply.header('allow', allow)
  if (request.method === 'OPTIONS') {
    void reply
      .code(204)
      .headers(preflightHeaders)
      .header('access-control-allow-methods', allow)
      .send()
    return
  }
  sendProblem(reply, 'method_not_allowed', { detail: `This path takes ${allow}.` })
}

function refuseUnknownPath(
  contracts: readonly AnalysisContract[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  sendProblem(reply, 'not_found', unknownPath(contracts, requestPath(request.url)))
}

function refuseMalformedUrl(reply: FastifyReply): void {
  sendProblem(reply, 'invalid_parameter', {
    detail: 'The path holds an invalid percent-encoding.',
    param: 'path',
  })
}

/** One line per request. Queries and headers stay out: a payment must never reach a log. */
function logAccess(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  request.log.info(
    {
      method: request.method,
      path: requestPath(request.url),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 1000) / 1000,
      bytes: Number(reply.getHeader('content-length') ?? 0),
    },
    'request',
  )
  done()
}

/** Unique within one machine: the instant of the start, then a count. */
function requestIds(startedAtMs: number): () => string {
  const prefix = Math.trunc(startedAtMs).toString(36)
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}
