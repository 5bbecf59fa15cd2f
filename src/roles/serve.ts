import type { Logger } from 'pino'
import { checkServeOptions } from '../config/check-serve.ts'
import type { EffectiveConfiguration } from '../config/effective.ts'
import { version } from '../config/environment.ts'
import type { ServeOptions } from '../config/serve.ts'
import { adminTokenOf } from './admin-token.ts'
import { foundationOf } from './serve/foundation.ts'
import { runService } from './serve/running-service.ts'
import { serveAll } from './serve/whole-service.ts'

/** The client of the broker is a tenth of all code, and a whole service has none. */
const roles = {
  all: () => serveAll,
  gateway: async () => (await import('./serve/gateway.ts')).serveGateway,
  engine: async () => (await import('./serve/engine.ts')).serveEngine,
}

/** `perpscope serve`: the whole service, or the part of it that `--role` names. */
export async function serve(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<void> {
  checkServeOptions(options)
  // Before anything is opened that would keep the process of a refused start alive.
  adminTokenOf(options)
  const foundation = await foundationOf(options, configuration)
  const open = await roles[options.role]()
  const isRunning = await runService((opened) => open(options, foundation, opened), foundation)
  if (isRunning) logUp(options, foundation.log)
}

function logUp({ role, source, payment }: ServeOptions, log: Logger): void {
  if (role === 'engine') {
    log.info({ source }, `perpscope ${version} is up as an engine`)
    return
  }
  if (payment === 'open')
    log.warn('--payment open: all answers are free for everyone who can reach this port')
  log.info({ source, payment }, `perpscope ${version} is up`)
}
