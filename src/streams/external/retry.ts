import type { Observable, SchedulerLike } from 'rxjs'
import { throwError, timeout } from 'rxjs'
import { backOffMs } from '../../domain/back-off.ts'
import { OperatingError } from '../../domain/errors.ts'
import { hostOf } from '../../domain/host-of.ts'
import { HttpStatusError } from '../http-exchange.ts'

/** The retry policy of all external sources: 1 to 60 s after a failure, hours after a refusal. */
const RETRY = { minMs: 1_000, maxMs: 60_000 } as const
const REFUSED_MS = 4 * 3_600_000
const TOO_MANY_REQUESTS = 429
/** Rate limits of public APIs count by the minute. */
const THROTTLED_MS = 60_000
/** Unauthorized, forbidden, unavailable for legal reasons. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 451])
/** Keeps many clients from sending in step. */
const JITTER = 0.1
const DETAIL_CHARS_MAX = 200

/** @param failures in a row, from 1. @param chance uniform in [0, 1) */
export function retryMs(failures: number, chance: number, minMs: number = RETRY.minMs): number {
  return backOffMs({ ...RETRY, minMs }, failures, chance)
}

/** Until a source that refuses this client is asked again. */
export function refusedMs(chance: number): number {
  return jittered(REFUSED_MS, chance)
}

/** At least this long after a failure: one minute after 429, else 0. */
export function throttledMs(cause: unknown): number {
  return cause instanceof HttpStatusError && cause.status === TOO_MANY_REQUESTS ? THROTTLED_MS : 0
}

export function isRefusal(cause: unknown): cause is HttpStatusError {
  return cause instanceof HttpStatusError && REFUSALS.has(cause.status)
}

export function jittered(ms: number, chance: number): number {
  return ms * (1 + JITTER * chance)
}

/** Fails a request that has not emitted its first value in time. */
export function withReplyTimeout<Value>(
  request: Observable<Value>,
  ms: number,
  scheduler: SchedulerLike,
): Observable<Value> {
  const late = () => new OperatingError('request_timeout', `no reply within ${ms / 1_000} s`)
  return request.pipe(timeout({ first: ms, scheduler, with: () => throwError(late) }))
}

/** Short and public: without addresses. */
export function publicReason(cause: unknown): string {
  if (cause instanceof HttpStatusError) return `HTTP ${cause.status}`
  return cause instanceof OperatingError ? cause.code : 'internal_error'
}

/**
 * What failed, where, and what follows, for the log.
 * @param failures in a row
 */
export function failureDetail(
  url: string,
  cause: unknown,
  failures: number,
  pauseMs: number,
): string {
  const host = hostOf(url)
  const message = messageOf(cause).slice(0, DETAIL_CHARS_MAX)
  const next = `attempt ${failures + 1} in ${Math.round(pauseMs / 1_000)} s`
  // Failures of a connection name the host.
  return `${message.startsWith(host) ? '' : `${host}: `}${message}; ${next}`
}

function messageOf(cause: unknown): string {
  if (cause instanceof HttpStatusError) return publicReason(cause)
  return cause instanceof Error ? cause.message : String(cause)
}
