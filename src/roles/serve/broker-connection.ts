import type { Logger } from 'pino'
import type { ServeOptions } from '../../config/serve.ts'
import { reasonOf } from '../../domain/errors.ts'
import { RedisBroker } from '../../link/broker/redis-broker.ts'
import { monotonicMs, systemClock } from '../system-clock.ts'

/** A broker that is away fails several times a second. */
const LOG_PERIOD_MS = 10_000

export function brokerUrlOf({ broker }: ServeOptions): string {
  if (broker === undefined) throw new Error('checked: the role has a broker')
  return broker
}

/** The broker of `--broker`, which connects in the background. */
export function connectBroker(url: string, log: Logger): RedisBroker {
  let loggedAtMs = Number.NEGATIVE_INFINITY
  return new RedisBroker({
    url,
    clock: systemClock,
    random: Math.random,
    onFailure: (cause) => {
      if (monotonicMs() - loggedAtMs < LOG_PERIOD_MS) return
      loggedAtMs = monotonicMs()
      log.warn({ reason: reasonOf(cause) }, 'the connection to the broker failed; connecting again')
    },
  })
}
