import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { listeningOn } from '../listening-on.ts'
import { systemClock } from '../system-clock.ts'
import type { Drain } from './drain.ts'
import { DRAIN_MS_MAX } from './drain.ts'

/** The process ends within this time after a signal; what runs it must wait longer. */
export const GRACE_MS_MAX = 15_000

/** A part of a service that works in the background. `stop` may be called without a `start`. */
export type ServicePart = {
  start?(): void
  /** Ends what another process can do at once; called before the servers finish their calls. */
  handOver?(): Promise<void>
  stop(): Promise<unknown> | unknown
}

/**
 * Stops parts in their order and removes them, so that each is stopped once. One that fails does not keep the others from
 * stopping.
 * @throws the first failure, after all of them
 */
export async function stopAll(parts: ServicePart[]): Promise<void> {
  const failures: unknown[] = []
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    try {
      await part.stop()
    } catch (cause) {
      failures.push(cause)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** A server, and the option that gives it another port. */
export type Listener = {
  readonly server: FastifyInstance
  readonly option: '--port' | '--admin-port'
  readonly host: string
  readonly port: number
}

/**
 * Runs a service until a signal ends it, also during its start: `open` opens its parts, the servers listen, then the parts
 * start in their order. At the end nothing more is sold, the parts hand over, the servers finish their calls one after the
 * other, so that the admin port reports the drain, and the parts stop in the same order.
 * @param open adds each part as soon as it is opened, in the order of their end
 * @returns whether it runs; false if a signal came before, and everything is stopped
 * @throws what `open` throws, and OperatingError if a port cannot be used; everything is stopped by then
 */
export async function runService(
  open: (parts: ServicePart[]) => Promise<readonly Listener[]>,
  { log, drain }: { readonly log: Logger; readonly drain: Drain },
): Promise<boolean> {
  const parts: ServicePart[] = []
  let listeners: readonly Listener[] = []
  const closeAll = async () => {
    drain.begin()
    if (listeners.length > 0)
      log.info(`draining: no more sales; calls in progress have ${DRAIN_MS_MAX / 1_000} s`)
    const cancel = systemClock.after(DRAIN_MS_MAX, () => {
      for (const { server } of listeners) server.server.closeAllConnections()
    })
    try {
      for (const part of parts) await part.handOver?.()
      for (const { server } of listeners) await server.close()
    } finally {
      cancel()
      await stopAll(parts)
    }
  }
  let closing = null as Promise<void> | null
  const close = () => {
    closing ??= closeAll()
    return closing
  }
  // A start without anything to wait for is a defect and no end; a service that runs always waits for its ports.
  const options = { delay: GRACE_MS_MAX, logger: log, skip: ['beforeExit' as const] }
  const grace = closeWithGrace(options, ({ err, signal }) => {
    if (err) log.fatal({ err }, 'stopping after an internal error')
    else if (signal && listeners.length === 0) log.info('ended by a signal during the start')
    return close()
  })
  try {
    const opened = await open(parts)
    if (closing === null) listeners = opened
    for (const { server, option, host, port } of listeners)
      await listeningOn(option, server.listen({ port, host }))
  } catch (cause) {
    // A server that is closed by a signal can no longer listen, and a start cannot use what it has closed.
    if (closing === null) {
      // A signal would end it with 0 and without its reason; a second one ends it at once.
      grace.uninstall()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => undefined)
      // Heartbeats and connections would keep the process of a refused start alive.
      await close().catch(() => undefined)
      throw cause
    }
  }
  if (closing !== null) {
    await closing
    return false
  }
  for (const part of parts) part.start?.()
  return true
}
