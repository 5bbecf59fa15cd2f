import { checkServeOptions } from '../config/check-serve.ts'
import type { EffectiveConfiguration } from '../config/effective.ts'
import type { ServeOptions } from '../config/serve.ts'
import { adminTokenOf } from './admin-client.ts'
import { serveEngine } from './serve/engine.ts'
import { serveGateway } from './serve/gateway.ts'
import type { ServicePart } from './serve/running-service.ts'
import { stopAll } from './serve/running-service.ts'
import { serveAll } from './serve/whole-service.ts'

const roles = { all: serveAll, gateway: serveGateway, engine: serveEngine }

/** `perpscope serve`: the whole service, or the part of it that `--role` names. */
export async function serve(
  options: ServeOptions,
  configuration: EffectiveConfiguration,
): Promise<void> {
  checkServeOptions(options)
  // Before anything is opened that would keep the process of a refused start alive.
  adminTokenOf(options)
  const opened: ServicePart[] = []
  try {
    await roles[options.role](options, configuration, opened)
  } catch (cause) {
    // Heartbeats and connections would keep the process of a refused start alive.
    await stopAll(opened).catch(() => undefined)
    throw cause
  }
}
