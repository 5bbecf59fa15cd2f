import type { Observable } from 'rxjs'
import { defer, filter, map, merge, of, retry, throwError, timeout, timer } from 'rxjs'
import { backOffMs } from '../../domain/back-off.ts'
import { OperatingError, reasonOf } from '../../domain/errors.ts'
import type { Batch } from '../../domain/event.ts'
import type { Runtime } from '../runtime.ts'
import type { VendorFillsOptions } from './vendor-fills.ts'
import { CHANNEL, VendorFills } from './vendor-fills.ts'

const SUBSCRIBE = JSON.stringify({ type: 'subscribe', subscription: { type: CHANNEL } })
/** The server expects it once a minute. */
const PONG = JSON.stringify({ type: 'pong' })
const PONG_PERIOD_MS = 30_000
/** It sends a ping once a minute. */
const SILENT_MS_MAX = 90_000
const BACK_OFF = { minMs: 1_000, maxMs: 60_000 }
/** The failure after a connection of this age counts as the first. */
const STABLE_MS = 60_000
/** A fill is delivered within this time after its trade. */
const DELIVERED_AFTER_MS = 5_000
/** Between two events that state what is covered. */
const COVERAGE_PERIOD_MS = 10_000

type LiquidationFeedOptions = VendorFillsOptions & {
  /** With the key of the vendor, if it wants one. */
  readonly url: string
  readonly onFailure: (reason: string) => void
}

/**
 * All liquidations of the venue, from a vendor with the subscription `liquidationFills`. It reconnects after every failure
 * and never completes. What it states to cover begins when the vendor acknowledges the subscription or sends the first data,
 * and after a fill that was lost; a fill of a known coin is a gap of that coin alone.
 */
export function liquidationFeed(
  options: LiquidationFeedOptions,
  runtime: Runtime,
): Observable<Batch> {
  const { url, onFailure } = options
  const { connect, random, scheduler } = runtime
  const pongs = timer(PONG_PERIOD_MS, PONG_PERIOD_MS, scheduler).pipe(map(() => PONG))
  const vendor = new VendorFills(options)
  let openedMs = 0
  let failures = 0
  return defer(() => {
    openedMs = scheduler.now()
    let coveredFromMs = Number.NaN
    let statedMs = Number.NEGATIVE_INFINITY
    let statedUntilMs = Number.NEGATIVE_INFINITY
    return connect(url, merge(of(SUBSCRIBE), pongs)).pipe(
      timeout({
        each: SILENT_MS_MAX,
        scheduler,
        with: () => throwError(() => new OperatingError('feed_silent', 'no frame for 90 s')),
      }),
      map((text): Batch => {
        const nowMs = scheduler.now()
        const { events, isComplete, lostCoins, isSubscribed } = vendor.read(text, nowMs)
        const isCovering = !Number.isNaN(coveredFromMs)
        if (isCovering ? !isComplete : isSubscribed) coveredFromMs = nowMs
        if (Number.isNaN(coveredFromMs)) return events
        const isDue = nowMs - statedMs >= COVERAGE_PERIOD_MS
        if (events.length === 0 && lostCoins.length === 0 && !isDue) return []
        const stamp = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
        const lost = { fromMs: Math.max(coveredFromMs, statedUntilMs), untilMs: nowMs }
        const gaps = lostCoins.map(
          (coin) => ({ kind: 'liquidation-gap', coin, ...lost, ...stamp }) as const,
        )
        statedMs = nowMs
        statedUntilMs = Math.max(coveredFromMs, nowMs - DELIVERED_AFTER_MS)
        const span = { fromMs: coveredFromMs, untilMs: statedUntilMs }
        return [{ kind: 'liquidation-feed', ...span, ...stamp }, ...gaps, ...events]
      }),
    )
  }).pipe(
    filter((batch) => batch.length > 0),
    retry({
      delay: (cause: unknown) => {
        if (!(cause instanceof OperatingError)) return throwError(() => cause)
        onFailure(reasonOf(cause))
        failures = scheduler.now() - openedMs >= STABLE_MS ? 1 : failures + 1
        return timer(backOffMs(BACK_OFF, failures, random()), scheduler)
      },
    }),
  )
}
