import type { SlowNeed } from './slow-rotation.ts'
import { SlowRotation } from './slow-rotation.ts'
import { ToldFundings } from './told-fundings.ts'

export type SlowTask =
  | { readonly request: 'predictedFundings' }
  | ({ readonly request: 'fundingHistory' } & SlowNeed)
  | ({ readonly request: 'candleSnapshot' } & SlowNeed)

/** What the choice depends on; all instants but `nowMs` are by the venue's clock. */
export type SlowView = {
  /** That are followed. */
  readonly coins: readonly string[]
  readonly nowMs: number
  readonly venueMs: number
  readonly hourlyOf: (coin: string, venueMs: number) => number | null
  readonly dayNotionalUsd: (coin: string) => number
}

/** Nothing urgent was to be asked for so long: while many coins are subscribed there are short pauses. */
const CALM_MS = 5_000
/** All coins cost 20 weight. */
const PREDICTIONS_PERIOD_MS = 300_000

/**
 * What is asked of the venue when nothing else is to be asked: what is paid next, a month of closed hours
 * where the engine lacks them, and a month of funding, which then every hour continues.
 */
export class SlowWork {
  readonly told = new ToldFundings()
  readonly #hours = new SlowRotation()
  readonly #fundings = new SlowRotation()
  #isRecalled = false
  #calmAtMs: number | null = null
  #predictionsAtMs = Number.NEGATIVE_INFINITY

  /** Our own history has told what it has: only what it lacks is asked. */
  recalled(): void {
    this.#isRecalled = true
  }

  /** Something urgent was to be asked. */
  wait(nowMs: number): void {
    this.#calmAtMs = nowMs + CALM_MS
  }

  next(view: SlowView): SlowTask | undefined {
    const { coins, nowMs, venueMs, hourlyOf, dayNotionalUsd } = view
    if (this.#calmAtMs === null) this.wait(nowMs)
    if (!this.#isRecalled || nowMs < (this.#calmAtMs ?? nowMs)) return undefined
    if (nowMs >= this.#predictionsAtMs) {
      this.#predictionsAtMs = nowMs + PREDICTIONS_PERIOD_MS
      return { request: 'predictedFundings' }
    }
    const hourlyNeed = (coin: string) => hourlyOf(coin, venueMs)
    const hours = this.#hours.next(coins, nowMs, hourlyNeed, dayNotionalUsd)
    if (hours !== undefined) return { request: 'candleSnapshot', ...hours }
    const fundingNeed = (coin: string) => this.told.needFromMs(coin, venueMs)
    const fundings = this.#fundings.next(coins, nowMs, fundingNeed, dayNotionalUsd)
    return fundings === undefined ? undefined : { request: 'fundingHistory', ...fundings }
  }

  /** To be called when the answer was taken in: a coin that still lacks the same is put off. */
  answered(
    task: SlowTask,
    { nowMs, venueMs, hourlyOf }: Pick<SlowView, 'nowMs' | 'venueMs' | 'hourlyOf'>,
    chance: number,
  ): void {
    if (task.request === 'predictedFundings') return
    const { request, coin } = task
    if (request === 'candleSnapshot')
      this.#hours.answered(task, hourlyOf(coin, venueMs), nowMs, chance)
    else this.#fundings.answered(task, this.told.needFromMs(coin, venueMs), nowMs, chance)
  }

  failed(task: SlowTask, nowMs: number, chance: number): void {
    if (task.request === 'predictedFundings') return
    const rotation = task.request === 'candleSnapshot' ? this.#hours : this.#fundings
    rotation.failed(task, nowMs, chance)
  }

  keep(isFollowed: (coin: string) => boolean): void {
    for (const kept of [this.told, this.#hours, this.#fundings]) kept.keep(isFollowed)
  }
}
