import type { MonoTypeOperatorFunction } from 'rxjs'
import { retry, timer } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import type { DexSelection, DexStatus } from '../../../domain/dex.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import type { Listing } from '../../../domain/listing.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import type { Runtime } from '../../runtime.ts'
import type { FeedEvent, OnFeedEvent } from '../ingest/feed-event.ts'
import type { Ingest, OnArrival } from '../ingest/ingest.ts'
import type { ConfirmedSymbols } from '../plausibility/confirmed-symbols.ts'
import type { Quarantine } from '../session/quarantine.ts'
import type { SubscriptionPlan } from '../session/subscription-plan.ts'
import type { CoinChannel } from '../wire/channels.ts'
import type { Rejected } from '../wire/rejection.ts'
import type { AccountRanking } from './account-ranking.ts'
import type { AccountRotation } from './account-rotation.ts'
import type { AuditRotation } from './audit-rotation.ts'
import type { BackfillQueue } from './backfill-queue.ts'
import type { BackgroundRequests } from './background-requests.ts'
import type { CollateralRefresh } from './collateral-refresh.ts'
import type { DexRegister } from './dex-register.ts'
import type { InfoClient } from './info-client.ts'
import type { UniverseRefresh } from './universe-refresh.ts'

/** Bars of one coin from this open time to the present. */
export type HistoryRequest = { readonly timeframe: Timeframe; readonly fromMs: number }

export type FeedOptions = {
  readonly wsUrl: string
  readonly infoUrl: string
  /** What we allow ourselves of the venue's REST weight. */
  readonly weightPerMinute: number
  /** How much of it is for the positions of accounts; 6 % where absent, 0 for none. */
  readonly accountWeightPerMinute?: number
  /** Over how many websockets the coins are spread, 1 to 8. */
  readonly sockets: number
  /** Channels of single coins; those of the product by default. */
  readonly channels?: readonly CoinChannel[]
  /** Another feed on this address ended a moment ago, and may have used up what the venue grants. */
  readonly isRestart?: boolean
  /** Which builder-deployed dexes are followed; none where absent. */
  readonly dexes?: DexSelection
  /** Between two judgements of which they are; a day where absent. */
  readonly dexPeriodMs?: number
  /**
   * Which past bars the engine still needs of a coin. It must be true as soon as a batch has been
   * delivered: what remains needed then is asked for again.
   */
  readonly historyOf: (coin: string, nowMs: number) => readonly HistoryRequest[]
  /** Which closed bars of a coin the engine wants compared with the venue's own account. */
  readonly auditOf?: (coin: string) => HistoryRequest | null
  /** From which open time on the engine lacks closed 1h bars of a coin; null for none. */
  readonly hourlyOf?: (coin: string, nowMs: number) => number | null
  /** Reads what our own history has of a coin; null for nothing. Asked once, when the feed begins. */
  readonly loadHistory?: (coin: string, series: Memory['series'], nowMs: number) => Memory | null
  /**
   * What the engine knows already: our own history of these is asked at once, whether or not the venue is there,
   * and they stay listed until their dex has told of itself.
   */
  readonly known?: readonly Listing[]
  /** Of the newest trade of a coin that the engine knows already, by the venue's clock; NaN for none. */
  readonly tradesKnownUntilMs?: (coin: string) => number
  readonly onFeedEvent?: (notice: FeedEvent) => void
  /** Called with all of them whenever one is followed or left, and every ten minutes. */
  readonly onDexes?: (dexes: readonly DexStatus[]) => void
  /** Hears everything that the events depend on, before it is taken in. */
  readonly onArrival?: OnArrival
}

/** What one feed consists of: each knows one thing, and what flows between them is in `feed.ts`. */
export type FeedParts = FeedOptions & {
  readonly onFeedEvent: OnFeedEvent
  readonly runtime: Runtime
  readonly info: InfoClient
  readonly ingest: Ingest
  readonly names: ConfirmedSymbols
  readonly plan: SubscriptionPlan
  readonly dexRegister: DexRegister
  /** Reports what `dexRegister` says now. */
  readonly reportDexes: () => void
  /** Coins whose own history was read already. */
  readonly recalled: Set<string>
  readonly backfill: BackfillQueue
  readonly audits: AuditRotation
  readonly traders: AccountRanking
  readonly accounts: AccountRotation
  readonly slow: BackgroundRequests
  readonly refresh: UniverseRefresh
  readonly collaterals: CollateralRefresh
  readonly quarantine: Quarantine
  /** To whoever listens to the feed. */
  readonly deliver: (batch: Batch) => void
}

/** Long, because the weight of a request in vain is gone too. */
export const PATIENT_BACK_OFF = { minMs: 5_000, maxMs: 300_000 }

export function accepted<Reply extends object>(reply: Reply | Rejected): Reply {
  if (isRejected(reply)) throw new OperatingError('reply_rejected', reply.reason)
  return reply
}

function isRejected(reply: object): reply is Rejected {
  return 'kind' in reply && reply.kind === 'rejected'
}

/** Rethrows whatever is no failure of the venue: that is a bug, and no repetition would mend it. */
export function noteFailure(request: string, cause: unknown, { onFeedEvent }: FeedParts): void {
  if (!(cause instanceof OperatingError)) throw cause
  onFeedEvent({ kind: 'request-failed', request, reason: `${cause.code}: ${cause.message}` })
}

/** Asks again, more and more rarely, until the venue answers. */
export function untilAnswered<T>(
  request: string,
  feed: FeedParts,
  backOff: { readonly minMs: number; readonly maxMs: number },
): MonoTypeOperatorFunction<T> {
  const { scheduler, random } = feed.runtime
  return retry({
    delay: (cause: unknown, failures) => {
      noteFailure(request, cause, feed)
      return timer(backOffMs(backOff, failures, random()), scheduler)
    },
  })
}
