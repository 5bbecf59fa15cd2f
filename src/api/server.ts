import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify, { LogController } from 'fastify'
import type { AnalysisContract, DocumentContract } from '../domain/contract.ts'
import { requestPath } from '../payment/resource.ts'
import { a2aRoutes } from './a2a/a2a-routes.ts'
import type { AnalysisRoutesOptions } from './analysis-routes.ts'
import { analysisRoutes } from './analysis-routes.ts'
import { refuseBrokenRequest } from './broken-request.ts'
import {
  CONNECTIONS_CHECK_MS,
  endConnectionsWithTheirCalls,
  HEADERS_TIMEOUT_MS,
  limitConnections,
  SILENT_TIMEOUT_MS,
} from './connections.ts'
import type { ConsolePage } from './console/console-page.ts'
import { publicConsole } from './console/console-routes.ts'
import { discoveryRoutes } from './discovery/discovery-routes.ts'
import type { ServiceFacts } from './discovery/service-facts.ts'
import type { Defer } from './fair-queue.ts'
import { FairQueue } from './fair-queue.ts'
import type { FreeRoutesOptions } from './free-routes.ts'
import { freeRoutes } from './free-routes.ts'
import { JSON_RPC_CALLS_MAX } from './json-rpc-scope.ts'
import { KnownPaths } from './known-paths.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import { unknownPathFacts } from './path-suggestion.ts'
import { proofRoutes } from './proof-routes.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { fastifyTrust } from './proxy-trust.ts'
import { headRefusal, malformedUrl } from './request-head.ts'
import { crossOriginHeaders, preflightHeaders, securityHeaders } from './response-headers.ts'
import { sendProblem, sendRefusal } from './send-problem.ts'
import type { TrackRecordRouteOptions } from './track-record-routes.ts'
import { trackRecordRoutes } from './track-record-routes.ts'

export type ServerOptions = Omit<AnalysisRoutesOptions, 'consolePage'> &
  Omit<FreeRoutesOptions, 'consolePage'> &
  TrackRecordRouteOptions & {
    /** null serves JSON to browsers too. */
    readonly console: ConsoleSettings | null
    /** null logs nothing. */
    readonly logger: FastifyBaseLogger | null
    /** Without it the caller's address is that of the connection, and `X-Forwarded-For` is ignored. */
    readonly trustProxy?: ProxyTrust
    /** Files and connections that the process may open: callers get a share of them. */
    readonly openFilesMax?: number
    /** One line per request. */
    readonly accessLog: boolean
    /** Defers a task to a later turn of the event loop; without it tasks run immediately. */
    readonly defer?: Defer
    /** Facts for the published documents. */
    readonly discovery: Pick<
      ServiceFacts,
      'publicUrl' | 'waysToPay' | 'limits' | 'receiptSigner' | 'docsViewer' | 'contactEmail'
    >
  }

/** The console of this server, and the coin that it shows for free. */
type ConsoleSettings = {
  readonly page: ConsolePage
  readonly charts: readonly DocumentContract[]
  readonly sampleCoin: string
}

const REQUEST_TIMEOUT_MS = 10_000
/** Above the 60 s of common proxies, which would otherwise send into a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** A payment of a smart wallet or on Solana can take several kilobytes. */
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
    ...(options.trustProxy === undefined ? {} : { trustProxy: fastifyTrust(options.trustProxy) }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: SILENT_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // `headRefusal` answers with a problem instead.
      requireHostHeader: false,
    },
    /** While closing, requests on open connections are still answered, and the connections then closed. */
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      // The ticker's length is a parameter check, which follows the maintenance check.
      maxParamLength: HEADER_BYTES_MAX,
    },
    clientErrorHandler: (error, socket) => refuseBrokenRequest(error, socket, nextRequestId()),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for errors before routing.
      setCommonHeaders(request, reply)
      if (error.code === 'FST_ERR_BAD_URL') sendRefusal(reply, malformedUrl)
      else refuseUnknownPath(options.contracts, request, reply)
    },
  })
  endConnectionsWithTheirCalls(app)
  // An unknown expectation is ignored (RFC 9110 10.1.1); Node would answer 417 without a body.
  app.server.on('checkExpectation', (...call) => app.server.emit('request', ...call))

  const paths = new KnownPaths()
  app.addHook('onRoute', ({ url, method }) => paths.add(url, method))
  app.addHook('onRequest', (request, reply, done) => {
    // First, so that no later hook takes them for headers of one answer.
    setCommonHeaders(request, reply)
    const refused = headRefusal(request.raw)
    if (refused === null) done()
    else sendRefusal(reply, refused)
  })
  const defer: Defer = options.defer ?? ((task) => task())
  const { openFilesMax } = options
  limitConnections(app, { proxies: options.trustProxy, defer, openFilesMax })
  app.addHook('onRequest', (request, reply, done) => {
    // Not in the not-found handler, which reads the body first.
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
      detail: 'Internal error. Repeat the request, with the same payment if it had one.',
    })
  })

  const consolePage = options.console?.page ?? null
  const { proofs } = options
  if (proofs !== undefined) proofRoutes(app, proofs)
  const facts = { ...options, ...options.discovery, hasProofs: proofs !== undefined }
  freeRoutes(app, { ...options, consolePage })
  if (options.console !== null)
    publicConsole(app, {
      ...{ ...options, ...options.console },
      isClockOff: () => options.readiness?.isClockOff() ?? false,
      facts,
    })
  discoveryRoutes(app, facts)
  trackRecordRoutes(app, options)
  const calls = new FairQueue(JSON_RPC_CALLS_MAX, defer)
  mcpRoutes(app, facts, calls)
  a2aRoutes(app, facts, calls)
  // A scope of its own, so that the payment hooks apply to the paid routes only.
  void app.register((paid, _, done) => {
    analysisRoutes(paid, { ...options, consolePage }).then(() => done(), done)
  })
  return app
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders)
  if (request.headers.origin !== undefined) reply.headers(crossOriginHeaders)
}

/** A preflight, an unsupported method, or an unknown path. */
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
  sendProblem(reply, 'method_not_allowed', { detail: `This path supports ${allow}.` })
}

function refuseUnknownPath(
  contracts: readonly AnalysisContract[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  sendProblem(reply, 'not_found', unknownPathFacts(contracts, requestPath(request.url)))
}

/** One line per request, without query and headers: a payment must not reach a log. */
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

/** Start time and a counter: unique within one machine. */
function requestIds(startedAtMs: number): () => string {
  const prefix = Math.trunc(startedAtMs).toString(36)
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}
