import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { AdminAccess } from '../../api/admin-access.ts'
import type { AdminServerOptions } from '../../api/admin-server.ts'
import { buildAdminServer } from '../../api/admin-server.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import { adminTokenOf } from '../admin-client.ts'
import { processLogger } from '../logger.ts'
import { steadySystemClock } from '../system-clock.ts'
import type { Listener } from './running-service.ts'

/** What every role needs. */
export type Foundation = {
  readonly log: Logger
  /** For ages and deadlines. */
  readonly clock: SteadyClock
  readonly metrics: Registry
}

export async function foundationOf(options: ServeOptions): Promise<Foundation> {
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  return { log: await processLogger(options), clock: steadySystemClock(), metrics }
}

/** @throws ConfigError if the token of the admin port is unusable */
export function adminListener(
  options: ServeOptions,
  { log: logger, clock, metrics }: Foundation,
  admin: Omit<AdminServerOptions, 'access' | 'logger' | 'clock' | 'metrics'>,
): Listener {
  const access = new AdminAccess(adminTokenOf(options))
  const server = buildAdminServer({ access, logger, clock, metrics, ...admin })
  return { server, option: '--admin-port', host: options.adminHost, port: options.adminPort }
}
