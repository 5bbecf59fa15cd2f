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
import type { Ingest } from '../ingest/ingest.ts'
import type { VenueChannel } from '../wire/channels.ts'
import { FrameDecoder } from '../wire/frame-decoder.ts'
import { PING } from '../wire/subscription.ts'
import { PING_PERIOD_MS } from './connection-state.ts'
import type { Quarantine } from './quarantine.ts'
import { Probe } from './quarantine.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'

const LOOK_PERIOD_MS = 1_000
const STEP_PERIOD_MS = 100

/** What the probe shares with the sockets of its feed. */
export type ProbeParts = {
  readonly wsUrl: string
  readonly channels?: readonly VenueChannel[]
  readonly runtime: Runtime
  readonly quarantine: Quarantine
  readonly plan: SubscriptionPlan
  readonly ingest: Ingest
  readonly refresh: { demand(): void }
  readonly messages: TokenBucket
  readonly connectionBudget: TokenBucket
  readonly onFeedEvent: OnFeedEvent
  /** Whether the venue answers on any socket. */
  readonly isReceived: () => boolean
}

/** Subscribes quarantined coins one by one, on a connection that exists only while there are any. */
export function symbolProbe(parts: ProbeParts): Observable<never> {
  const { scheduler } = parts.runtime
  return interval(LOOK_PERIOD_MS, scheduler).pipe(
    exhaustMap(() =>
      parts.quarantine.next(scheduler.now()) === undefined ? EMPTY : oneConnection(parts),
    ),
  )
}

/** One connection, until no coin is due or the venue closes it. */
function oneConnection(parts: ProbeParts): Observable<never> {
  const { channels, connectionBudget, ingest, messages, onFeedEvent } = parts
  const { plan, quarantine, refresh, runtime, wsUrl } = parts
  const { connect, scheduler } = runtime
  return defer(() => {
    const probe = new Probe(quarantine, channels)
    const decoder = new FrameDecoder(channels)
    decoder.setUniverse(ingest.universe)
    const conclude = (coin: string, outcome: 'accepted' | 'refused' | 'inconclusive') => {
      const isAccepted = outcome === 'accepted'
      if (isAccepted) {
        quarantine.accepted(coin)
        plan.restore(coin)
      } else quarantine.refused(coin, outcome === 'refused', scheduler.now())
      onFeedEvent({ kind: 'probed', coin, isAccepted })
    }
    const steps = timer(0, STEP_PERIOD_MS, scheduler).pipe(
      concatMap(() => {
        const nowMs = scheduler.now()
        const state = probe.state(nowMs)
        if (state === 'waits' || state === 'unanswered') return EMPTY
        if (probe.coin !== null) conclude(probe.coin, 'accepted')
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
    // The venue closes the connection on an unknown name; without a reply the probe is inconclusive.
    const watch = interval(LOOK_PERIOD_MS, scheduler).pipe(
      tap(() => {
        if (probe.state(scheduler.now()) === 'unanswered')
          throw new OperatingError('probe_silent', `no acknowledgement of ${probe.coin}`)
      }),
      ignoreElements(),
    )
    const idle = interval(LOOK_PERIOD_MS, scheduler).pipe(
      filter(() => probe.coin === null && quarantine.next(scheduler.now()) === undefined),
    )
    return concat(
      scheduledSlot((nowMs) => connectionBudget.reserve(1, nowMs), scheduler),
      merge(frames, watch).pipe(takeUntil(idle)),
    ).pipe(
      catchError((cause: unknown) => {
        if (!(cause instanceof OperatingError)) return throwError(() => cause)
        // The coin is the reason only if other connections receive data. The universe may have changed, so it is read again.
        const isEvidence = cause.code === 'socket_closed' && parts.isReceived()
        if (probe.coin !== null) conclude(probe.coin, isEvidence ? 'refused' : 'inconclusive')
        else quarantine.untried(scheduler.now())
        refresh.demand()
        return EMPTY
      }),
    )
  })
}
