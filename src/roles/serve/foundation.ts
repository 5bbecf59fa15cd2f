import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { AdminAccess } from '../../api/admin-access.ts'
import type { AdminServerOptions } from '../../api/admin-server.ts'
import { buildAdminServer } from '../../api/admin-server.ts'
import { chartContracts, contracts } from '../../compute/analyses/registry.ts'
import type { EffectiveConfiguration } from '../../config/effective.ts'
import { version } from '../../config/environment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import { adminTokenOf } from '../admin-token.ts'
import { readConsolePage } from '../console-files.ts'
import { processLogger } from '../logger.ts'
import { RecentWarnings } from '../recent-warnings.ts'
import { steadySystemClock, systemClock } from '../system-clock.ts'
import { Drain } from './drain.ts'
import { openFilesMax } from './open-files.ts'
import type { Listener } from './running-service.ts'
import type { Selling } from './selling.ts'

const SECRET_BYTES = 32

/** What every role needs. */
export type Foundation = {
  readonly log: Logger
  /** For ages and deadlines. */
  readonly clock: SteadyClock
  readonly metrics: Registry
  /** Of the log of this process. */
  readonly warnings: RecentWarnings
  readonly configuration: EffectiveConfiguration
  readonly drain: Drain
}

export async function foundationOf(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<Foundation> {
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  const warnings = new RecentWarnings(configuration.secrets)
  const log = await processLogger(options, warnings.add)
  const drain = new Drain(systemClock)
  return { log, clock: steadySystemClock(), metrics, warnings, configuration, drain }
}

/** What the admin port of a role shows and controls. */
type RoleOfAdmin = Omit<
  AdminServerOptions,
  'access' | 'logger' | 'clock' | 'metrics' | 'console'
> & {
  /** null if this process sells nothing. */
  readonly selling: Pick<Selling, 'methods' | 'receipts' | 'clockCheck'> | null
}

/** @throws ConfigError if the token of the admin port is unusable */
export function adminListener(
  options: ServeOptions,
  { log: logger, clock, metrics }: Foundation,
  { selling, ...admin }: RoleOfAdmin,
): Listener {
  const access = new AdminAccess({
    token: adminTokenOf(options),
    clock,
    newSecret: () => randomBytes(SECRET_BYTES).toString('base64url'),
  })
  const page = readConsolePage()
  const console = page && {
    ...{ page, contracts, charts: chartContracts },
    facts: {
      version,
      waysToPay: selling?.methods ?? [],
      receiptSigner: selling?.receipts?.signer,
    },
    isClockOff: () => selling !== null && selling.clockCheck.fault !== null,
  }
  const { trustProxy } = options
  const server = buildAdminServer({
    ...{ access, logger, clock, metrics, console, ...admin },
    openFilesMax: openFilesMax(),
    ...(trustProxy === undefined ? {} : { trustProxy }),
  })
  return { server, option: '--admin-port', host: options.adminHost, port: options.adminPort }
}
