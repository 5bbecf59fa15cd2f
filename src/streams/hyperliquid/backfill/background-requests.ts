import type { BackgroundNeed } from './background-rotation.ts'
import { BackgroundRotation } from './background-rotation.ts'
import { FundingCache } from './funding-cache.ts'

export type BackgroundTask =
  | { readonly request: 'predictedFundings' }
  | ({ readonly request: 'fundingHistory' } & BackgroundNeed)
  | ({ readonly request: 'candleSnapshot' } & BackgroundNeed)

/** Inputs of the choice; `venueMs` is by the venue's clock. */
export type BackgroundView = {
  readonly coins: readonly string[]
  readonly nowMs: number
  readonly venueMs: number
  readonly hourlyOf: (coin: string, venueMs: number) => number | null
  readonly dayNotional: (coin: string) => number
}

/** Time without an urgent request: many subscriptions leave short pauses. */
const CALM_MS = 5_000
/** Longer than the hourly update. */
const LONG_LACK_MS = 24 * 3_600_000
/** One request of weight 20 covers all coins. */
const PREDICTIONS_PERIOD_MS = 300_000

/**
 * Requests without urgency: predicted funding, a month of closed hours, and a month of settled funding with an hourly
 * update. The most traded coins do not wait until all others have candles.
 */
export class BackgroundRequests {
  readonly fundingCache = new FundingCache()
  readonly #first = new BackgroundLane(this.fundingCache)
  readonly #rest = new BackgroundLane(this.fundingCache)
  #loadsUnderway = 0
  #isLoaded = false
  #calmAtMs: number | null = null
  #predictionsAtMs = Number.NEGATIVE_INFINITY

  /** Loading of local history begins. */
  loading(): void {
    this.#loadsUnderway += 1
    this.#isLoaded = false
  }

  /** Local history is loaded: only missing data are requested. */
  loaded(): void {
    this.#loadsUnderway -= 1
    this.#isLoaded = this.#loadsUnderway === 0
  }

  /** An urgent request was made. */
  wait(nowMs: number): void {
    this.#calmAtMs = nowMs + CALM_MS
  }

  /** History of the most traded coins, before the candles of other coins. */
  first(view: BackgroundView): BackgroundTask | undefined {
    if (!this.#isLoaded || view.coins.length === 0) return undefined
    return this.#predictions(view.nowMs) ?? this.#first.next(view, LONG_LACK_MS)
  }

  next(view: BackgroundView): BackgroundTask | undefined {
    const { nowMs } = view
    if (this.#calmAtMs === null) this.wait(nowMs)
    if (!this.#isLoaded || nowMs < (this.#calmAtMs ?? nowMs)) return undefined
    return this.#predictions(nowMs) ?? this.#rest.next(view)
  }

  /** After a reply was processed: a coin with the same gap is deferred. */
  answered(
    task: BackgroundTask,
    { nowMs, venueMs, hourlyOf }: Pick<BackgroundView, 'nowMs' | 'venueMs' | 'hourlyOf'>,
    chance: number,
  ): void {
    if (task.request === 'predictedFundings') return
    const { request, coin } = task
    const stillFromMs =
      request === 'candleSnapshot'
        ? hourlyOf(coin, venueMs)
        : this.fundingCache.needFromMs(coin, venueMs)
    for (const lane of this.#lanes)
      lane.rotationOf(request).answered(task, stillFromMs, nowMs, chance)
  }

  failed(task: BackgroundTask, nowMs: number, chance: number): void {
    if (task.request === 'predictedFundings') return
    for (const lane of this.#lanes) lane.rotationOf(task.request).failed(task, nowMs, chance)
  }

  keep(isFollowed: (coin: string) => boolean): void {
    this.fundingCache.keep(isFollowed)
    for (const { hours, fundings } of this.#lanes)
      for (const rotation of [hours, fundings]) rotation.keep(isFollowed)
  }

  get #lanes(): readonly BackgroundLane[] {
    return [this.#first, this.#rest]
  }

  #predictions(nowMs: number): BackgroundTask | undefined {
    if (nowMs < this.#predictionsAtMs) return undefined
    this.#predictionsAtMs = nowMs + PREDICTIONS_PERIOD_MS
    return { request: 'predictedFundings' }
  }
}

/** Hours before funding, for one group of coins. */
class BackgroundLane {
  readonly hours = new BackgroundRotation()
  readonly fundings = new BackgroundRotation()
  readonly #fundingCache: FundingCache

  constructor(fundingCache: FundingCache) {
    this.#fundingCache = fundingCache
  }

  rotationOf(request: 'candleSnapshot' | 'fundingHistory'): BackgroundRotation {
    return request === 'candleSnapshot' ? this.hours : this.fundings
  }

  /** @param lackMsMin shorter gaps are skipped */
  next(view: BackgroundView, lackMsMin = 0): BackgroundTask | undefined {
    const { coins, nowMs, venueMs, hourlyOf, dayNotional } = view
    const ifLong = (fromMs: number | null) =>
      fromMs !== null && venueMs - fromMs >= lackMsMin ? fromMs : null
    const hourlyNeed = (coin: string) => ifLong(hourlyOf(coin, venueMs))
    const hours = this.hours.next(coins, nowMs, hourlyNeed, dayNotional)
    if (hours !== undefined) return { request: 'candleSnapshot', ...hours }
    const fundingNeed = (coin: string) => ifLong(this.#fundingCache.needFromMs(coin, venueMs))
    const fundings = this.fundings.next(coins, nowMs, fundingNeed, dayNotional)
    return fundings === undefined ? undefined : { request: 'fundingHistory', ...fundings }
  }
}
