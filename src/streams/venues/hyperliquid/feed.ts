import { strict as assert } from 'node:assert'
import type { MonoTypeOperatorFunction, Observable } from 'rxjs'
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
  map,
  merge,
  mergeMap,
  of,
  retry,
  tap,
  timer,
} from 'rxjs'
import { backOffMs } from '../../../domain/back-off.ts'
import { OperatingError } from '../../../domain/errors.ts'
import type { Batch } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import { memorySeries } from '../../../domain/history.ts'
import type { Listing } from '../../../domain/listing.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { Runtime } from '../../runtime.ts'
import { AccountRanking } from './account-ranking.ts'
import { AccountRotation } from './account-rotation.ts'
import { heldUsd } from './account-state.ts'
import { AuditRotation } from './audit-rotation.ts'
import type { BackfillTask } from './backfill.ts'
import { Backfill } from './backfill.ts'
import { decodeDexNames } from './dexes.ts'
import { InfoClient } from './info-client.ts'
import type { OnArrival } from './intake.ts'
import { Intake } from './intake.ts'
import type { FeedNotice, OnNotice } from './notice.ts'
import { Quarantine } from './quarantine.ts'
import { Roster } from './roster.ts'
import type { SlowTask } from './slow-work.ts'
import { SlowWork } from './slow-work.ts'
import { socketBatches } from './sockets.ts'
import { SureNames } from './sure-names.ts'
import { dexOf, MAIN_DEX } from './universe.ts'
import { UniverseRefresh } from './universe-refresh.ts'
import { ACCOUNT_WEIGHT, ACCOUNTS_SHARE, candlesWeight, fundingsWeight } from './weight-budget.ts'
import type { Rejected } from './wire.ts'

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
  /** Another feed on this address ended a moment ago, and may have used up what the venue grants. */
  readonly isRestart?: boolean
  /** Dexes beside the venue's own whose perpetuals are followed too, or all of them. */
  readonly dexes?: readonly string[] | 'all'
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
  readonly recall?: (coin: string, series: Memory['series'], nowMs: number) => Memory | null
  /**
   * What the engine knows already: our own history of these is asked at once, whether or not the venue is there,
   * and they stay listed until their dex has told of itself.
   */
  readonly known?: readonly Listing[]
  /** Of the newest trade of a coin that the engine knows already, by the venue's clock; NaN for none. */
  readonly tradesKnownUntilMs?: (coin: string) => number
  readonly onNotice?: (notice: FeedNotice) => void
  /** Hears everything that the events depend on, before it is taken in. */
  readonly onArrival?: OnArrival
}

/** The venue allows ten for one address; the rest is room for overlapping reconnects. */
const SOCKETS_MAX = 8
const UNIVERSE_BACK_OFF = { minMs: 1_000, maxMs: 30_000 }
/** Long, because the weight of a request in vain is gone too. */
const PATIENT_BACK_OFF = { minMs: 5_000, maxMs: 300_000 }
const REQUEST_PERIOD_MS = 25
const DEXES_PERIOD_MS = 3_600_000
const SWEEP_PERIOD_MS = 60_000
const RANK_PERIOD_MS = 600_000
/** Between two turns of reading our own history. */
const RECALL_PERIOD_MS = 1
/** Series that are read in one turn: each takes some 0.2 ms. */
const RECALLS_A_TURN = 8

/**
 * The endless event feed of Hyperliquid's own perpetuals. It begins with the universe and all
 * contexts. Everything that goes wrong outside is healed here and told in-band or as a notice: the
 * feed neither completes nor errors, but for a bug.
 */
export function hyperliquidFeed(options: FeedOptions, runtime: Runtime): Observable<Batch> {
  const { sockets } = options
  assert(
    Number.isInteger(sockets) && sockets >= 1 && sockets <= SOCKETS_MAX,
    `sockets must be an integer from 1 to ${SOCKETS_MAX}`,
  )
  return defer(() => {
    const { onNotice = () => {}, onArrival, dexes = [], weightPerMinute } = options
    const { accountWeightPerMinute = ACCOUNTS_SHARE * weightPerMinute } = options
    const nowMs = runtime.scheduler.now()
    const feed: Feed = {
      ...options,
      onNotice,
      runtime,
      info: new InfoClient(options, runtime, onNotice),
      intake: new Intake({
        ...{ sockets, onNotice, known: options.known ?? [] },
        ...(options.tradesKnownUntilMs && { tradesKnownUntilMs: options.tradesKnownUntilMs }),
        ...(onArrival && { onArrival }),
      }),
      names: new SureNames(options.known?.map(({ coin }) => coin) ?? []),
      roster: new Roster(sockets),
      backfill: new Backfill(),
      audits: new AuditRotation(nowMs),
      traders: new AccountRanking(nowMs),
      accounts: new AccountRotation(accountWeightPerMinute, nowMs),
      slow: new SlowWork(),
      refresh: new UniverseRefresh(MAIN_DEX),
      quarantine: new Quarantine(),
    }
    const others = dexes === 'all' ? allDexes(feed) : of(dexes)
    const known = new Set(
      options.known?.flatMap(({ coin, isDelisted }) => (isDelisted ? [] : [coin])),
    )
    /** What our own history has of coins that nobody knew before. */
    const memoriesOfNew = (dex: string) =>
      defer(() => {
        const coins = feed.roster.followed.filter((coin) => dexOf(coin) === dex && !known.has(coin))
        return memories(coins, feed)
      })
    const begun = (dex: string) => concat(firstUniverse(dex, feed), memoriesOfNew(dex))
    const live = concat(
      firstUniverse(MAIN_DEX, feed),
      defer(() =>
        merge(
          socketBatches(feed, runtime).pipe(tap((batch) => noteTrades(batch, feed))),
          requestedBatches(feed),
          memoriesOfNew(MAIN_DEX),
          // Each in its own time: one that does not answer keeps nobody waiting.
          others.pipe(mergeMap((names) => merge(...names.map(begun)))),
          sweeps(feed),
          ranking(feed),
        ),
      ),
    )
    return merge(memories([...known], feed), live)
  })
}

type Feed = FeedOptions & {
  readonly onNotice: OnNotice
  readonly runtime: Runtime
  readonly info: InfoClient
  readonly intake: Intake
  readonly names: SureNames
  readonly roster: Roster
  readonly backfill: Backfill
  readonly audits: AuditRotation
  readonly traders: AccountRanking
  readonly accounts: AccountRotation
  readonly slow: SlowWork
  readonly refresh: UniverseRefresh
  readonly quarantine: Quarantine
}

/** Nothing of a dex can be subscribed or joined before its universe is known, so this is asked until answered. */
function firstUniverse(dex: string, feed: Feed): Observable<Batch> {
  const { info } = feed
  const request = 'metaAndAssetCtxs'
  return defer(() => info.ask(() => ({ type: request, ...named(dex) }))).pipe(
    map(({ body }) => universe({ request, dex, body }, feed)),
    untilAnswered(request, feed, dex === MAIN_DEX ? UNIVERSE_BACK_OFF : PATIENT_BACK_OFF),
  )
}

/** Names that were not told before, now and whenever somebody has deployed another dex. */
function allDexes(feed: Feed): Observable<readonly string[]> {
  const told = new Set<string>()
  const names = defer(() => feed.info.ask(() => ({ type: 'perpDexs' }))).pipe(
    map(({ body }) => accepted(decodeDexNames(body, told)).names),
    untilAnswered('perpDexs', feed, PATIENT_BACK_OFF),
  )
  return timer(0, DEXES_PERIOD_MS, feed.runtime.scheduler).pipe(
    exhaustMap(() => names),
    tap((fresh) => {
      for (const name of fresh) told.add(name)
    }),
  )
}

function untilAnswered<T>(
  request: string,
  feed: Feed,
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

/**
 * Everything asked over REST after the start, one request after the other, but for how other dexes begin: the universe
 * whenever it is due, else the history of the most traded coin that waits for it, else what is not urgent.
 */
function requestedBatches(feed: Feed): Observable<Batch> {
  const { backfill, intake, refresh, roster, runtime, slow } = feed
  const { scheduler } = runtime
  return timer(0, REQUEST_PERIOD_MS, scheduler).pipe(
    exhaustMap(() => {
      const nowMs = scheduler.now()
      const dex = refresh.due(nowMs)
      if (dex !== undefined) return nextUniverse(dex, feed)
      // What is history and what is not yet over, only the venue's clock can tell; its first book does.
      if (intake.clockOffsetMs === null) return EMPTY
      const ofTheFirst = slowRequest(feed, 'first')
      if (ofTheFirst !== null) return ofTheFirst
      const task = backfill.next(nowMs, roster.dayNotionalUsd)
      if (task !== undefined) {
        slow.wait(nowMs)
        return history(task, feed)
      }
      return audit(feed) ?? account(feed) ?? slowRequest(feed, 'next') ?? EMPTY
    }),
  )
}

/** While nothing is missing: one coin's closed bars, to be compared with what was folded of them. */
function audit(feed: Feed): Observable<Batch> | null {
  const { audits, auditOf, backfill, runtime } = feed
  const coin = audits.next(backfill.acknowledged, runtime.scheduler.now())
  const request = coin === undefined ? null : (auditOf?.(coin) ?? null)
  if (coin === undefined || request === null) return null
  // One that lost its connection meanwhile waits for history that is asked after that.
  return bars(coin, request, feed, () => backfill.isWhole(coin)).pipe(
    catchError((cause: unknown) => {
      noteFailure('candleSnapshot', cause, feed)
      return EMPTY
    }),
  )
}

/** Our own history of these coins; one series of all of them comes after the other. */
function memories(
  coins: readonly string[],
  { intake, recall, runtime, slow }: Feed,
): Observable<Batch> {
  const { scheduler } = runtime
  const read = (coin: string, series: Memory['series']): Batch => {
    const nowMs = scheduler.now()
    const memory = recall?.(coin, series, nowMs) ?? null
    if (memory === null) return []
    if (memory.series === 'fundings') slow.told.remembered(coin, memory.rows)
    return intake.remembered(memory, nowMs)
  }
  const all = recall === undefined ? [] : coins
  const turns = memorySeries.flatMap((series) =>
    Array.from({ length: Math.ceil(all.length / RECALLS_A_TURN) }, (_, turn) =>
      timer(RECALL_PERIOD_MS, scheduler).pipe(
        concatMap(() => all.slice(turn * RECALLS_A_TURN, (turn + 1) * RECALLS_A_TURN)),
        map((coin) => read(coin, series)),
      ),
    ),
  )
  const began = defer(() => {
    slow.recalling()
    return EMPTY
  })
  const ended = defer(() => {
    slow.recalled()
    return EMPTY
  })
  return concat(began, ...turns, ended).pipe(filter((batch) => batch.length > 0))
}

/** What every coin needs and none needs soon: of the most traded ones first, and then of all. */
function slowRequest(feed: Feed, whose: 'first' | 'next'): Observable<Batch> | null {
  const { backfill, hourlyOf = () => null, intake, roster, runtime, slow } = feed
  const { scheduler } = runtime
  const view = () => {
    const nowMs = scheduler.now()
    return { nowMs, venueMs: intake.venueMs(nowMs), hourlyOf }
  }
  const { dayNotionalUsd } = roster
  const coins =
    whose === 'first' ? roster.hot.filter((coin) => backfill.isWhole(coin)) : backfill.acknowledged
  const task = slow[whose]({ ...view(), coins, dayNotionalUsd })
  if (task === undefined) return null
  // The engine takes a batch in as it is published, so by then it tells what it still lacks.
  const judgement = defer(() => {
    slow.answered(task, view(), runtime.random())
    return EMPTY
  })
  return concat(slowReply(task, feed), judgement).pipe(
    catchError((cause: unknown) => {
      noteFailure(task.request, cause, feed)
      slow.failed(task, scheduler.now(), runtime.random())
      return EMPTY
    }),
    filter((batch) => batch.length > 0),
  )
}

function slowReply(task: SlowTask, feed: Feed): Observable<Batch> {
  const { info, intake, runtime, slow } = feed
  const nowMs = () => runtime.scheduler.now()
  switch (task.request) {
    case 'predictedFundings':
      return info
        .ask(() => ({ type: task.request }))
        .pipe(map((reply) => accepted(intake.predictions(reply, nowMs())).batch))
    case 'fundingHistory': {
      const { coin, fromMs } = task
      return info
        .ask(() => ({ type: task.request, coin, startTime: fromMs }))
        .pipe(
          map((reply) => {
            info.debit(fundingsWeight(reply.body))
            const taken = accepted(intake.fundings({ coin, fromMs, ...reply }, nowMs()))
            slow.told.answered(coin, fromMs, taken)
            return taken.batch
          }),
        )
    }
    case 'candleSnapshot': {
      const { coin, fromMs } = task
      return info
        .ask((askedMs) => candlesRequest(coin, '1h', fromMs, latestMs(intake, askedMs)))
        .pipe(
          map((reply) => {
            info.debit(candlesWeight(reply.body))
            return accepted(intake.hours({ coin, fromMs, ...reply }, nowMs())).batch
          }),
        )
    }
    default:
      return task satisfies never
  }
}

function noteTrades(batch: Batch, { runtime, traders }: Feed): void {
  const nowMs = runtime.scheduler.now()
  for (const event of batch) if (event.kind === 'trade') traders.note(event, nowMs)
}

/** While nothing is missing: what the account that is due holds; null while none is. */
function account(feed: Feed): Observable<Batch> | null {
  const { accounts, info, intake, runtime, traders } = feed
  const { scheduler, random } = runtime
  const user = accounts.next((count) => traders.top(count), scheduler.now())
  if (user === undefined) return null
  const request = 'clearinghouseState'
  return info
    .ask(() => ({ type: request, user }), ACCOUNT_WEIGHT)
    .pipe(
      map(({ body, askedMs }) => {
        const nowMs = scheduler.now()
        const arrival = { account: user, askedMs, body }
        const { batch, positions } = accepted(intake.account(arrival, nowMs))
        accounts.answered(user, heldUsd(positions), nowMs)
        return batch
      }),
      filter((batch) => batch.length > 0),
      catchError((cause: unknown) => {
        accounts.failed(scheduler.now(), random())
        noteFailure(request, cause, feed)
        return EMPTY
      }),
    )
}

function nextUniverse(dex: string, feed: Feed): Observable<Batch> {
  const { info, refresh, runtime } = feed
  const request = 'meta'
  return defer(() => info.ask(() => ({ type: request, ...named(dex) }))).pipe(
    map(({ body }) => universe({ request, dex, body }, feed)),
    filter((batch) => batch.length > 0),
    catchError((cause: unknown) => {
      noteFailure(request, cause, feed)
      refresh.failed(dex, runtime.scheduler.now())
      return EMPTY
    }),
  )
}

/**
 * An acknowledgement is one reason to ask for history and not the only one: a reply may have lacked
 * bars, and the engine may have found a hole of its own. So it is asked, too, what it lacks.
 */
function sweeps({ backfill, historyOf, runtime }: Feed): Observable<never> {
  const { scheduler } = runtime
  return interval(SWEEP_PERIOD_MS, scheduler).pipe(
    tap(() => {
      const nowMs = scheduler.now()
      backfill.sweep(nowMs, (coin) => historyOf(coin, nowMs).length > 0)
    }),
    ignoreElements(),
  )
}

/** Volumes move within hours, and with them the coins that deserve a closer look. */
function ranking(feed: Feed): Observable<never> {
  return interval(RANK_PERIOD_MS, feed.runtime.scheduler).pipe(
    tap(() => {
      feed.roster.rank()
      keepFollowed(feed)
    }),
    ignoreElements(),
  )
}

/** What the engine lacks of one coin, longest timeframe first: it seeds what 15m then continues. */
function history(task: BackfillTask, feed: Feed): Observable<Batch> {
  const { backfill, historyOf, runtime } = feed
  const lacking = () => historyOf(task.coin, runtime.scheduler.now())
  const replies = defer(() => {
    const requests = lacking().toSorted(
      (one, other) => timeframeMs[other.timeframe] - timeframeMs[one.timeframe],
    )
    return concat(
      ...requests.map((request) =>
        defer(() =>
          backfill.isCurrent(task)
            ? bars(task.coin, request, feed, () => backfill.isCurrent(task))
            : EMPTY,
        ),
      ),
    )
  })
  const judgement = defer(() => {
    // The engine takes a batch in as it is published, so it has everything by now. What it still
    // lacks the venue did not tell yet: of a new coin, nothing before its first trade.
    if (lacking().length === 0) backfill.done(task)
    else postpone(task, feed)
    return EMPTY
  })
  return concat(replies, judgement).pipe(
    catchError((cause: unknown) => {
      noteFailure('candleSnapshot', cause, feed)
      postpone(task, feed)
      return EMPTY
    }),
  )
}

function postpone(task: BackfillTask, { backfill, runtime }: Feed): void {
  const delayMs = backOffMs(PATIENT_BACK_OFF, task.attempts + 1, runtime.random())
  backfill.postpone(task, runtime.scheduler.now() + delayMs)
}

/** @param isWanted false once the connection was lost over which what follows the bars would have come */
function bars(
  coin: string,
  request: HistoryRequest,
  feed: Feed,
  isWanted: () => boolean,
): Observable<Batch> {
  const { info, intake, runtime } = feed
  const { timeframe, fromMs } = request
  const exchange = info.ask((askedMs) =>
    candlesRequest(coin, timeframe, fromMs, latestMs(intake, askedMs)),
  )
  return exchange.pipe(
    map(({ body, askedMs }) => {
      // Paid for, whether or not it is still of use.
      info.debit(candlesWeight(body))
      if (!isWanted()) return []
      const arrival = { coin, timeframe, fromMs, askedMs, body }
      return accepted(intake.history(arrival, runtime.scheduler.now())).batch
    }),
    filter((batch) => batch.length > 0),
  )
}

/**
 * By the later of the two clocks: a bar that one of them holds for unborn would be missing from a reply
 * that counts as whole. Of what has not begun the venue says nothing.
 */
function latestMs(intake: Intake, askedMs: number): number {
  return Math.max(askedMs, intake.venueMs(askedMs))
}

function candlesRequest(coin: string, interval: Timeframe, startTime: number, endTime: number) {
  return { type: 'candleSnapshot', req: { coin, interval, startTime, endTime } } as const
}

/** The venue's own dex is the one without a name. */
function named(dex: string): { readonly dex?: string } {
  return dex === MAIN_DEX ? {} : { dex }
}

/** @returns the events to publish; none when the universe is the one that we have. */
function universe(arrival: Parameters<Intake['universeReply']>[0], feed: Feed): Batch {
  const { intake, names, onNotice, refresh, roster, runtime } = feed
  const nowMs = runtime.scheduler.now()
  const { dex } = arrival
  const { batch, isNew } = accepted(intake.universeReply(arrival, nowMs))
  refresh.answered(dex, isNew, nowMs)
  roster.note(batch)
  const told = intake.universe.flatMap((listing) => listing?.coin ?? [])
  const isSurer = names.told(
    dex,
    told.filter((coin) => dexOf(coin) === dex),
  )
  if (names.hasUnsure(dex)) refresh.demand()
  if (!isNew && !isSurer) return batch
  const before = roster.leftOutCount
  roster.setUniverse(
    intake.universe.map((listing) => (listing && names.isSure(listing.coin) ? listing : null)),
  )
  const count = roster.leftOutCount
  if (count !== before) onNotice({ kind: 'left-out', count })
  keepFollowed(feed)
  return batch
}

/** Forgets what was to be asked or tried of coins that are not followed any more. */
function keepFollowed({ backfill, quarantine, roster, slow }: Feed): void {
  const isFollowed = (coin: string) => roster.follows(coin)
  for (const one of [backfill, quarantine, slow]) one.keep(isFollowed)
}

function accepted<Reply extends object>(reply: Reply | Rejected): Reply {
  if (isRejected(reply)) throw new OperatingError('reply_rejected', reply.reason)
  return reply
}

function isRejected(reply: object): reply is Rejected {
  return 'kind' in reply && reply.kind === 'rejected'
}

/** Rethrows whatever is no failure of the venue: that is a bug, and no repetition would mend it. */
function noteFailure(request: string, cause: unknown, { onNotice }: Feed): void {
  if (!(cause instanceof OperatingError)) throw cause
  onNotice({ kind: 'request-failed', request, reason: `${cause.code}: ${cause.message}` })
}
