import type { Observable } from 'rxjs'
import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  ignoreElements,
  interval,
  merge,
  of,
  takeUntil,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { OperatingError } from '../../../domain/errors.ts'
import { scheduledSlot } from '../../rate-gate.ts'
import type { Runtime } from '../../runtime.ts'
import type { TokenBucket } from '../../token-bucket.ts'
import type { OnFeedEvent } from '../ingest/feed-event.ts'
import type { Ingest } from '../ingest/frame-processor.ts'
import { FrameDecoder } from '../wire/frame-decoder.ts'
import { PING } from '../wire/subscription.ts'
import { PING_PERIOD_MS } from './connection-state.ts'
import type { Quarantine } from './quarantine.ts'
import { Probe } from './quarantine.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'

const LOOK_PERIOD_MS = 1_000
const STEP_PERIOD_MS = 100

/** What a probe shares with the sockets of its feed. */
type ProbeParts = {
  readonly wsUrl: string
  readonly runtime: Runtime
  readonly quarantine: Quarantine
  readonly plan: SubscriptionPlan
  readonly ingest: Ingest
  readonly refresh: { demand(): void }
  readonly messages: TokenBucket
  readonly connections: TokenBucket
  readonly onFeedEvent: OnFeedEvent
  /** True while the venue answers on any socket. */
  readonly isHeard: () => boolean
}

/** Tries the quarantined coins one by one, on a socket that exists only while there are any. */
export function probing(parts: ProbeParts): Observable<never> {
  const { scheduler } = parts.runtime
  return interval(LOOK_PERIOD_MS, scheduler).pipe(
    exhaustMap(() =>
      parts.quarantine.next(scheduler.now()) === undefined ? EMPTY : oneProbing(parts),
    ),
  )
}

/** One connection: until no coin is left to be tried, or the venue drops it. */
function oneProbing(parts: ProbeParts): Observable<never> {
  const { connections, messages, onFeedEvent, quarantine, refresh, plan, runtime, wsUrl } = parts
  const { connect, scheduler } = runtime
  return defer(() => {
    const probe = new Probe(quarantine)
    const decoder = new FrameDecoder()
    decoder.setUniverse(parts.ingest.universe)
    const conclude = (coin: string, isAccepted: boolean, isEvidence: boolean) => {
      if (isAccepted) {
        quarantine.accepted(coin)
        plan.letIn(coin)
      } else quarantine.refused(coin, isEvidence, scheduler.now())
      onFeedEvent({ kind: 'probed', coin, isAccepted })
    }
    const steps = timer(0, STEP_PERIOD_MS, scheduler).pipe(
      concatMap(() => {
        const nowMs = scheduler.now()
        const state = probe.state(nowMs)
        if (state === 'waits' || state === 'unanswered') return EMPTY
        if (probe.coin !== null) conclude(probe.coin, true, true)
        const frames = [...probe.end(), ...probe.begin(nowMs)]
        messages.debit(frames.length, nowMs)
        return of(...frames)
      }),
    )
    const pings = interval(PING_PERIOD_MS, scheduler).pipe(
      tap(() => messages.debit(1, scheduler.now())),
      concatMap(() => of(PING)),
    )
    const frames = connect(wsUrl, merge(steps, pings)).pipe(
      tap((text) => {
        const frame = decoder.decode(text, scheduler.now())
        if (frame.kind === 'acknowledged')
          probe.acknowledged(frame.channel, frame.coin, scheduler.now())
      }),
      ignoreElements(),
    )
    // Whoever does not know a name hangs up on it. Who says nothing is dead, and no judge of names.
    const watch = interval(LOOK_PERIOD_MS, scheduler).pipe(
      tap(() => {
        if (probe.state(scheduler.now()) === 'unanswered')
          throw new OperatingError('probe_silent', `${wsUrl} is dead`)
      }),
      ignoreElements(),
    )
    const idle = interval(LOOK_PERIOD_MS, scheduler).pipe(
      filter(() => probe.coin === null && quarantine.next(scheduler.now()) === undefined),
    )
    return concat(
      scheduledSlot((nowMs) => connections.reserve(1, nowMs), scheduler),
      merge(frames, watch).pipe(takeUntil(idle)),
    ).pipe(
      catchError((cause: unknown) => {
        if (!(cause instanceof OperatingError)) return throwError(() => cause)
        // Where the others live on, it was this coin. The venue's list may have changed as well.
        const isEvidence = cause.code === 'socket_closed' && parts.isHeard()
        if (probe.coin !== null) conclude(probe.coin, false, isEvidence)
        else quarantine.untried(scheduler.now())
        refresh.demand()
        return EMPTY
      }),
    )
  })
}
