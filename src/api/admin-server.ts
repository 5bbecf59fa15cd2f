import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify, { errorCodes, LogController } from 'fastify'
import type { Registry } from 'prom-client'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import { isRecord } from '../domain/json.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { HealthFault } from '../payment/health-monitor.ts'
import { requestPath } from '../payment/resource.ts'
import type { AdminAccess } from './admin-access.ts'
import { adminSessionRoutes } from './admin-session-routes.ts'
import {
  CONNECTIONS_CHECK_MS,
  HEADERS_TIMEOUT_MS,
  limitConnections,
  SILENT_TIMEOUT_MS,
} from './connections.ts'
import type { ConsoleOptions } from './console/console-routes.ts'
import { adminConsole } from './console/console-routes.ts'
import type { DeskReports } from './desk/desk-reports.ts'
import type { DoctorRuns } from './desk/desk-routes.ts'
import { deskRoutes } from './desk/desk-routes.ts'
import { liveReports } from './desk/live-reports.ts'
import { KnownPaths } from './known-paths.ts'
import type { Maintenance, MaintenanceState } from './maintenance-switch.ts'
import type { ProxyTrust } from './proxy-trust.ts'
import { fastifyTrust } from './proxy-trust.ts'
import { headRefusal, malformedUrl } from './request-head.ts'
import { securityHeaders } from './response-headers.ts'
import { sendProblem, sendRefusal } from './send-problem.ts'

export type AdminServerOptions = {
  readonly access: AdminAccess
  readonly engine: EngineReader
  /** null if this process sells nothing. */
  readonly maintenance: Maintenance | null
  readonly metrics: Registry
  readonly clock: Clock
  readonly logger: FastifyBaseLogger | null
  /** null if the engine is another process. */
  readonly restartEngine: (() => void | Promise<void>) | null
  /** The operator's console; null serves none. */
  readonly console: AdminConsoleSettings | null
  readonly desk: { readonly reports: DeskReports; readonly doctor: DoctorRuns }
  /** Behind TLS of such a proxy the cookie of a session is `Secure`. A number is about the public port only. */
  readonly trustProxy?: ProxyTrust
  /** Files and connections that the process may open: callers get a share of them. */
  readonly openFilesMax?: number
  /** Sales checks; only the clock if answers are free. */
  readonly checks?: () => readonly { readonly check: string; readonly fault: HealthFault | null }[]
}

type AdminConsoleSettings = Pick<
  ConsoleOptions,
  'page' | 'contracts' | 'charts' | 'facts' | 'isClockOff'
>

const BODY_BYTES_MAX = 1_024
const REQUEST_TIMEOUT_MS = 5_000
const RETRY_SECONDS = 5

/** The admin server, not yet listening; bind it to loopback only, unless its access needs a token. */
export function buildAdminServer(options: AdminServerOptions): FastifyInstance {
  const { access, clock, engine, logger, maintenance, metrics, restartEngine } = options
  // A number states that only proxies reach the public port; other programs reach this one directly.
  const proxies = typeof options.trustProxy === 'number' ? undefined : options.trustProxy
  const app = Fastify({
    ...(logger === null ? { logger: false } : { loggerInstance: logger }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SILENT_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    },
    ...(proxies === undefined ? {} : { trustProxy: fastifyTrust(proxies) }),
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, _request, reply) => {
      // No hook runs for errors before routing.
      reply.headers(securityHeaders)
      if (error.code === 'FST_ERR_BAD_URL') sendRefusal(reply, malformedUrl)
      else refuseUnknownPath(reply)
    },
  })
  // As on the public port.
  app.server.on('checkExpectation', (...call) => app.server.emit('request', ...call))
  const paths = new KnownPaths()
  app.addHook('onRoute', ({ url, method }) => paths.add(url, method))
  app.addHook('onRequest', (request, reply, done) => {
    const refused = headRefusal(request.raw)
    if (refused === null) done()
    else sendRefusal(reply, refused)
  })
  // On a non-loopback address, callers without a token could otherwise exhaust the file descriptors.
  const { openFilesMax } = options
  limitConnections(app, { proxies, defer: (task) => task(), openFilesMax })
  app.addHook('onRequest', access.check)
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.headers(securityHeaders)
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    done(null, payload)
  })
  app.setNotFoundHandler((request, reply) => {
    // Unlike the public port, this one answers no preflight.
    const methods = paths
      .methodsOf(requestPath(request.url))
      .filter((method) => method !== 'OPTIONS')
    if (methods.length === 0) return refuseUnknownPath(reply)
    const allow = methods.join(', ')
    reply.header('allow', allow)
    return sendProblem(reply, 'method_not_allowed', { detail: `This path supports ${allow}.` })
  })
  app.setErrorHandler((error, request, reply) => refuseOrFail(error, request, reply))

  adminSessionRoutes(app, access)

  const { console: settings, desk } = options
  if (settings !== null) {
    adminConsole(app, {
      ...{ ...settings, engine, clock, more: liveReports(desk.reports, clock) },
      // A stream ends with its session.
      isGranted: (request) => access.isStillGranted(request),
    })
    app.get('/', { config: { isOpen: true } }, (request, reply) => {
      if (!settings.page.sendIfPreferred(request, reply))
        sendProblem(reply, 'not_found', { detail: 'This path is a page for browsers.' })
    })
  }

  app.get('/livez', { config: { isOpen: true } }, (_request, reply) =>
    reply.type('text/plain').send('ok\n'),
  )

  const readyChecks = (): readonly ReadyCheck[] => [
    ...readiness(engine, clock.nowMs()),
    ...(options.checks?.() ?? []).map(({ check, fault }) => ({
      check,
      isOk: fault === null,
      reason: fault?.reason ?? null,
      sinceMs: fault?.sinceMs ?? null,
    })),
  ]

  app.get('/readyz', { config: { isOpen: true } }, (request, reply) => {
    const checks = readyChecks()
    const failing = checks.filter(({ isOk }) => !isOk)
    const reasons = failing.map(({ check }) => check)
    const isReady = reasons.length === 0
    reply.code(isReady ? 200 : 503)
    if (!access.isGranted(request)) return reply.send({ ready: isReady })
    const isVerbose = Object.hasOwn(request.query as object, 'verbose')
    return reply.send({
      ready: isReady,
      reasons,
      details: Object.fromEntries(failing.map(({ check, reason }) => [check, reason])),
      ...(isVerbose ? { checks: checks.map(shownCheck) } : {}),
    })
  })

  // As in the Kubernetes API server: https://kubernetes.io/docs/reference/using-api/health-checks/
  app.get<{ Params: { check: string } }>(
    '/readyz/:check',
    { config: { isOpen: true } },
    ({ params }, reply) => {
      const found = readyChecks().find(({ check }) => check === params.check)
      if (found === undefined)
        return sendProblem(reply, 'not_found', { detail: 'This check does not exist.' })
      return reply.code(found.isOk ? 200 : 503).send({ ready: found.isOk })
    },
  )

  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.metrics()
    return reply.type(metrics.contentType).send(text)
  })

  app.get('/store', () => storeReport(engine))

  app.get('/sources', () => sourcesReport(engine))

  if (maintenance !== null) maintenanceRoutes(app, maintenance, clock)

  deskRoutes(app, desk.reports, desk.doctor)

  app.post('/engine/restart', async (request, reply) => {
    if (restartEngine === null) {
      return sendProblem(reply, 'not_found', {
        detail: 'The engine is another process; restart that process.',
      })
    }
    request.log.warn('engine restart requested')
    await restartEngine()
    return reply.code(202).send({ restarting: true })
  })
  return app
}

/** null before the first report of an engine, and without one. */
function storeReport(engine: EngineReader) {
  const [store, recording] = [engine.store(), engine.recording()]
  return {
    store: store && {
      state: store.state,
      reason: store.reason,
      since_iso: isoInstant(store.sinceMs),
      dropped_rows: store.droppedRows,
      damaged_blocks: store.damagedBlocks,
      set_aside_files: store.setAsideFiles,
    },
    recording: recording && {
      state: recording.state,
      reason: recording.reason,
      since_iso: isoInstant(recording.sinceMs),
    },
  }
}

/** Last reported state of each external source. */
function sourcesReport(engine: EngineReader) {
  return {
    sources: engine.sources().map(({ source, state, sinceMs, reason }) => ({
      source,
      state,
      since_iso: isoInstant(sinceMs),
      reason,
    })),
  }
}

type ReadyCheck = {
  readonly check: string
  readonly isOk: boolean
  /** null while the check passes. */
  readonly reason: string | null
  readonly sinceMs: number | null
}

function readiness(engine: EngineReader, nowMs: number): readonly ReadyCheck[] {
  const state = engine.state(nowMs)
  const checkOf = (check: string, isOk: boolean, reason: string) => ({
    check,
    isOk,
    reason: isOk ? null : reason,
    sinceMs: null,
  })
  return [
    checkOf(
      'engine_connected',
      state !== 'unavailable',
      engine.isStarting ? 'the engine is starting' : 'no engine is connected',
    ),
    checkOf('engine_speaks', state === 'available', `the engine is ${state}`),
    checkOf('coin_ready', engine.coins().length > 0, 'no coin has data yet'),
  ]
}

function shownCheck({ check, isOk, reason, sinceMs }: ReadyCheck) {
  return {
    check,
    ok: isOk,
    reason,
    since_iso: sinceMs === null ? null : isoInstant(sinceMs),
  }
}

function maintenanceRoutes(app: FastifyInstance, maintenance: Maintenance, clock: Clock): void {
  app.get('/maintenance', () => maintenanceState(maintenance))

  app.post('/maintenance', async (request, reply) => {
    if (!isMaintenance(request.body)) throw new errorCodes.FST_ERR_VALIDATION()
    const { on } = request.body
    try {
      if (await maintenance.set(on, clock.nowMs()))
        request.log.warn({ maintenance: on }, 'maintenance mode changed')
    } catch (cause) {
      if (!(cause instanceof OperatingError)) throw cause
      request.log.error({ err: cause }, 'maintenance mode could not be stored')
      return sendProblem(reply, 'ledger_busy', {
        detail: 'Maintenance mode cannot be stored now; it is as before. Try again.',
        retryAfterSeconds: RETRY_SECONDS,
      })
    }
    return maintenanceState(maintenance)
  })
}

/** `on`: every paid call is refused with 503. */
function isMaintenance(body: unknown): body is { readonly on: boolean } {
  return isRecord(body) && typeof body['on'] === 'boolean' && Object.keys(body).length === 1
}

function maintenanceState(maintenance: MaintenanceState) {
  return { on: maintenance.isOn, since_iso: isoInstant(maintenance.sinceMs) }
}

function refuseUnknownPath(reply: FastifyReply): void {
  sendProblem(reply, 'not_found', { detail: 'This path does not exist.' })
}

/** Bodies by path; the other paths need none. */
const bodies: Readonly<Record<string, string>> = {
  '/maintenance': '{"on": true} or {"on": false}',
  '/session': '{"token": "<admin token>"}',
}

function refuseOrFail(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (status < 500) {
    const body = bodies[request.routeOptions.url ?? '']
    sendProblem(reply, 'invalid_parameter', {
      detail:
        body === undefined
          ? 'The body of the request cannot be read. This path needs none.'
          : `Send ${body} as application/json, at most ${BODY_BYTES_MAX} bytes.`,
      param: 'body',
    })
    return
  }
  request.log.error({ err: error }, 'request failed')
  sendProblem(reply, 'internal_error', { detail: 'Internal error; the log states the cause.' })
}
