import type { Logger } from 'pino'
import { reasonOf } from '../../domain/errors.ts'
import { redisClient } from '../../link/broker/redis-client.ts'
import type { RateLimits } from '../../payment/rate-limit.ts'
import { sharedRateLimits } from '../../payment/shared-rate-limits.ts'
import { systemClock } from '../system-clock.ts'

/** Rate limits that all gateways count in the broker. A connection of its own: documents never delay a count. */
export function brokerRateLimits(
  url: string,
  log: Logger,
): { readonly rateLimits: RateLimits; stop(): void } {
  const client = redisClient(url, Math.random)
  let isFailing = false
  client.on('ready', () => {
    isFailing = false
  })
  client.on('error', (cause) => {
    if (!isFailing) log.warn({ reason: reasonOf(cause) }, 'rate limits are counted here alone')
    isFailing = true
  })
  // It connects again by itself; a failure is reported above.
  client.connect().catch(() => undefined)
  return {
    rateLimits: sharedRateLimits({ client, clock: systemClock }),
    stop: () => client.destroy(),
  }
}
