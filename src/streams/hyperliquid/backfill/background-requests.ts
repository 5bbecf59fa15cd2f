import type { BackgroundNeed } from './background-rotation.ts'
import { BackgroundRotation } from './background-rotation.ts'
import { FundingCache } from './funding-cache.ts'

export type BackgroundTask =
  | { readonly request: 'predictedFundings' }
  | ({ readonly request: 'fundingHistory' } & BackgroundNeed)
  | ({ readonly request: 'candleSnapshot' } & BackgroundNeed)

/** What the choice depends on; all instants but `nowMs` are by the venue's clock. */
export type BackgroundView = {
  /** That are followed. */
  readonly coins: readonly string[]
  readonly nowMs: number
  readonly venueMs: number
  readonly hourlyOf: (coin: string, venueMs: number) => number | null
  readonly dayNotionalUsd: (coin: string) => number
}

/** Nothing urgent was to be asked for so long: while many coins are subscribed there are short pauses. */
const CALM_MS = 5_000
/** What every hour brings is less. */
const LONG_LACK_MS = 24 * 3_600_000
/** All coins cost 20 weight. */
const PREDICTIONS_PERIOD_MS = 300_000

/**
 * What is asked of the venue when nothing else is to be asked: what is paid next, a month of closed hours
 * where the engine lacks them, and a month of funding, which then every hour continues. The most traded
 * coins do not wait for the candles of all others.
 */
export class BackgroundRequests {
  readonly told = new FundingCache()
  readonly #first = new BackgroundLane(this.told)
  readonly #rest = new BackgroundLane(this.told)
  #recallsUnderway = 0
  #isRecalled = false
  #calmAtMs: number | null = null
  #predictionsAtMs = Number.NEGATIVE_INFINITY

  /** Our own history is being read. */
  recalling(): void {
    this.#recallsUnderway += 1
    this.#isRecalled = false
  }

  /** It has told what it has: only what it lacks is asked. */
  recalled(): void {
    this.#recallsUnderway -= 1
    this.#isRecalled = this.#recallsUnderway === 0
  }

  /** Something urgent was to be asked. */
  wait(nowMs: number): void {
    this.#calmAtMs = nowMs + CALM_MS
  }

  /** The past of the most traded coins that have their candles: it comes before the candles of others. */
  first(view: BackgroundView): BackgroundTask | undefined {
    if (!this.#isRecalled || view.coins.length === 0) return undefined
    return this.#predictions(view.nowMs) ?? this.#first.next(view, LONG_LACK_MS)
  }

  next(view: BackgroundView): BackgroundTask | undefined {
    const { nowMs } = view
    if (this.#calmAtMs === null) this.wait(nowMs)
    if (!this.#isRecalled || nowMs < (this.#calmAtMs ?? nowMs)) return undefined
    return this.#predictions(nowMs) ?? this.#rest.next(view)
  }

  /** To be called when the answer was taken in: a coin that still lacks the same is put off. */
  answered(
    task: BackgroundTask,
    { nowMs, venueMs, hourlyOf }: Pick<BackgroundView, 'nowMs' | 'venueMs' | 'hourlyOf'>,
    chance: number,
  ): void {
    if (task.request === 'predictedFundings') return
    const { request, coin } = task
    const stillFromMs =
      request === 'candleSnapshot' ? hourlyOf(coin, venueMs) : this.told.needFromMs(coin, venueMs)
    for (const lane of this.#lanes)
      lane.rotationOf(request).answered(task, stillFromMs, nowMs, chance)
  }

  failed(task: BackgroundTask, nowMs: number, chance: number): void {
    if (task.request === 'predictedFundings') return
    for (const lane of this.#lanes) lane.rotationOf(task.request).failed(task, nowMs, chance)
  }

  keep(isFollowed: (coin: string) => boolean): void {
    this.told.keep(isFollowed)
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

/** Hours before funding, of one group of coins. */
class BackgroundLane {
  readonly hours = new BackgroundRotation()
  readonly fundings = new BackgroundRotation()
  readonly #told: FundingCache

  constructor(told: FundingCache) {
    this.#told = told
  }

  rotationOf(request: 'candleSnapshot' | 'fundingHistory'): BackgroundRotation {
    return request === 'candleSnapshot' ? this.hours : this.fundings
  }

  /** @param lackMsMin a coin that lacks less is left out */
  next(view: BackgroundView, lackMsMin = 0): BackgroundTask | undefined {
    const { coins, nowMs, venueMs, hourlyOf, dayNotionalUsd } = view
    const ifLong = (fromMs: number | null) =>
      fromMs !== null && venueMs - fromMs >= lackMsMin ? fromMs : null
    const hourlyNeed = (coin: string) => ifLong(hourlyOf(coin, venueMs))
    const hours = this.hours.next(coins, nowMs, hourlyNeed, dayNotionalUsd)
    if (hours !== undefined) return { request: 'candleSnapshot', ...hours }
    const fundingNeed = (coin: string) => ifLong(this.#told.needFromMs(coin, venueMs))
    const fundings = this.fundings.next(coins, nowMs, fundingNeed, dayNotionalUsd)
    return fundings === undefined ? undefined : { request: 'fundingHistory', ...fundings }
  }
}
