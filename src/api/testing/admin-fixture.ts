import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import type { ThreadUsage } from '../../domain/desk-reports.ts'
import { AdminAccess } from '../admin-access.ts'
import type { AdminServerOptions } from '../admin-server.ts'
import { buildAdminServer } from '../admin-server.ts'
import { controlReports } from '../desk/control-report.ts'
import { healthReports } from '../desk/health-report.ts'
import { withoutSales } from '../desk/money-report.ts'
import { RequestStatistics } from '../desk/request-statistics.ts'
import { measureEngine } from '../metrics/engine-metrics.ts'
import type { GatewayFixture } from './gateway-fixture.ts'
import { gatewayFixture } from './gateway-fixture.ts'
import { gatedLike, pulseLike } from './pulse-like.ts'

export const USAGE: ThreadUsage = {
  loopDelay: { p50Ms: 0, p99Ms: 1, maxMs: 2 },
  ...{
    heapUsedBytes: 1,
    heapTotalBytes: 2,
    heapLimitBytes: 8,
    externalBytes: 3,
    arrayBufferBytes: 4,
  },
}

export type AdminFixture = GatewayFixture & {
  readonly metrics: Registry
  readonly admin: FastifyInstance
  readonly requests: RequestStatistics
  readonly desk: AdminServerOptions['desk']
}

/** Access without a token, or with this one; each new secret is another. */
function adminAccess(
  token: string | null,
  clock: { nowMs(): number } = { nowMs: () => 0 },
): AdminAccess {
  let secrets = 0
  const newSecret = () => {
    secrets += 1
    return `secret-${secrets}`
  }
  return new AdminAccess({ token, clock, newSecret })
}

/** The admin server of a gateway with documents of BTC and kPEPE, which sells nothing. */
export function adminFixture(
  overrides: Partial<AdminServerOptions> & { readonly token?: string } = {},
): AdminFixture {
  const gateway = gatewayFixture()
  const metrics = new Registry()
  const { app, clock, engine, maintenance } = gateway
  measureEngine(metrics, engine, clock)
  const requests = new RequestStatistics(clock)
  requests.observe(app)
  const desk = deskOf(gateway, requests)
  const { token = null, ...options } = overrides
  const admin = buildAdminServer({
    ...{ access: adminAccess(token, clock), clock, engine, maintenance, metrics },
    ...{ logger: null, console: null, restartEngine: null, desk },
    ...options,
  })
  return { ...gateway, metrics, admin, requests, desk }
}

/** The desk of this gateway. Its doctor starts once and stays at work. */
function deskOf(
  { clock, engine, maintenance }: GatewayFixture,
  requests: RequestStatistics,
): AdminServerOptions['desk'] {
  let isRunning = false
  const doctor = {
    start: () => {
      if (isRunning) return false
      isRunning = true
      return true
    },
    report: () => ({
      state: isRunning ? ('running' as const) : ('never' as const),
      ...{ startedAtMs: null, endedAtMs: null, failure: null, findings: [] },
    }),
  }
  const reports = {
    health: healthReports({
      ...{ clock, engine, requests, version: '0.1.0', role: 'all' },
      ...{ contracts: [pulseLike, gatedLike], usage: () => USAGE, residentBytes: () => 5 },
      ...{ disk: () => ({ freeBytes: 6, totalBytes: 7 }), checks: () => [] },
    }),
    money: withoutSales(clock, 'Answers are free.'),
    control: controlReports({
      ...{ clock, maintenance, doctor, canRestartEngine: false, configuration: [] },
      warnings: { newest: () => [] },
    }),
  }
  return { reports, doctor }
}
