import type { MonoTypeOperatorFunction } from 'rxjs'
import { retry, timer } from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import type { DexSelection, DexStatus } from '../../../domain/dex.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch, FillsWindow } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import type { Runtime } from '../../runtime.ts'
import type { OnFeedEvent } from '../ingest/feed-event.ts'
import type { Ingest, IngestOptions } from '../ingest/ingest.ts'
import type { ConfirmedSymbols } from '../plausibility/confirmed-symbols.ts'
import type { Quarantine } from '../session/quarantine.ts'
import type { SubscriptionPlan } from '../session/subscription-plan.ts'
import type { Rejected } from '../wire/rejection.ts'
import type { AccountRanking } from './account-ranking.ts'
import type { AccountRotation } from './account-rotation.ts'
import type { AuditRotation } from './audit-rotation.ts'
import type { BackfillQueue } from './backfill-queue.ts'
import type { BackgroundRequests } from './background-requests.ts'
import type { CollateralRefresh } from './collateral-refresh.ts'
import type { DexRegister } from './dex-register.ts'
import type { FillsBudget } from './fills-budget.ts'
import type { InfoClient } from './info-client.ts'
import type { UniverseRefresh } from './universe-refresh.ts'
import type { VaultRefresh } from './vault-refresh.ts'

/** Bars of one coin from this open time to the present. */
export type HistoryRequest = { readonly timeframe: Timeframe; readonly fromMs: number }

export type FeedOptions = IngestOptions & {
  readonly wsUrl: string
  readonly infoUrl: string
  /** Planned REST weight. */
  readonly weightPerMinute: number
  /** The part of it for positions of accounts; 6 % by default, 0 for none. */
  readonly accountWeightPerMinute?: number
  /** The part of the venue's subscriptions for one IP address; all by default. */
  readonly subscriptionsMax?: number
  /** A feed on this IP address ended a moment ago and may have used its limits. */
  readonly isRestart?: boolean
  /** Followed builder-deployed dexes; none by default. */
  readonly dexes?: DexSelection
  /** Between two decisions which dexes to follow; a day by default. */
  readonly dexPeriodMs?: number
  /** The past bars that the engine lacks. Must be current after every delivered batch: missing bars are requested again. */
  readonly historyOf: (coin: string, nowMs: number) => readonly HistoryRequest[]
  /** The closed bars of a coin that are compared with the venue. */
  readonly auditOf?: (coin: string) => HistoryRequest | null
  /** The first open time of missing closed 1h bars; null for none. */
  readonly hourlyOf?: (coin: string, nowMs: number) => number | null
  /**
   * The fills of an account that may be liquidations, by the venue's clock; null for none. A deferred account is passed
   * over. None are requested by default.
   */
  readonly fillsToRead?: (
    venueMs: number,
    isDeferred: (account: string) => boolean,
  ) => FillsWindow | null
  /** Liquidator vaults; those of the venue's details by default. */
  readonly vaults?: readonly string[]
  /** Loads one series of a coin from the local history; null for none. Called once per coin. */
  readonly loadHistory?: (coin: string, series: Memory['series'], nowMs: number) => Memory | null
  /** Called when the followed dexes change, and every ten minutes. */
  readonly onDexes?: (dexes: readonly DexStatus[]) => void
}

/** The parts of one feed. */
export type FeedParts = FeedOptions & {
  readonly onFeedEvent: OnFeedEvent
  readonly runtime: Runtime
  readonly info: InfoClient
  readonly ingest: Ingest
  readonly names: ConfirmedSymbols
  readonly plan: SubscriptionPlan
  readonly dexRegister: DexRegister
  /** Calls `onDexes`. */
  readonly reportDexes: () => void
  /** Coins whose local history was loaded. */
  readonly loaded: Set<string>
  readonly backfill: BackfillQueue
  readonly audits: AuditRotation
  readonly traders: AccountRanking
  readonly accounts: AccountRotation
  readonly fills: FillsBudget
  readonly vaultRefresh: VaultRefresh
  readonly background: BackgroundRequests
  readonly refresh: UniverseRefresh
  readonly collaterals: CollateralRefresh
  readonly quarantine: Quarantine
  /** Emits a batch of the feed. */
  readonly deliver: (batch: Batch) => void
}

/** Long, because failed requests cost weight too. */
export const PATIENT_BACK_OFF = { minMs: 5_000, maxMs: 300_000 }

export function accepted<Reply extends object>(reply: Reply | Rejected): Reply {
  if ('kind' in reply && reply.kind === 'rejected')
    throw new OperatingError('reply_rejected', reply.reason)
  return reply as Reply
}

/** Reports a failure of the venue; rethrows a defect, which no retry repairs. */
export function noteFailure(request: string, cause: unknown, { onFeedEvent }: FeedParts): void {
  if (!(cause instanceof OperatingError)) throw cause
  onFeedEvent({ kind: 'request-failed', request, reason: `${cause.code}: ${cause.message}` })
}

/** Repeats a request with back-off until it succeeds. */
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
