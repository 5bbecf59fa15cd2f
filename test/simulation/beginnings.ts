import { isRecord } from '../../src/domain/json.ts'
import { timeframeMs } from '../../src/domain/timeframe.ts'
import type { Beginning } from './candle-truth.ts'

/** A request for fewer bars fills a gap; it is not a cold start. */
const COLD_QUARTERS_MIN = 500
const DEEP_HOURS_MIN = 1_500

/** First bars that an engine computes from, derived from its requests; averages depend on them. */
export class Beginnings {
  readonly #asked4h = new Map<string, { readonly fromMs: number; readonly askedMs: number }>()
  readonly #of = new Map<string, Beginning[]>()

  /** Candidates of a coin, the latest last. */
  readonly of = (coin: string): readonly Beginning[] => this.#of.get(coin) ?? []

  /** Whether another engine computes from the same bars. */
  isSame(coin: string, other: Beginnings): boolean {
    const bars = (of: Beginnings) =>
      of.of(coin).map(({ quarterMs, hourMs, fourHoursMs }) => [quarterMs, hourMs, fourHoursMs])
    return JSON.stringify(bars(this)) === JSON.stringify(bars(other))
  }

  /**
   * @param body of a request to the venue's `/info`
   * @returns the coin if the request is for its full history, else null
   */
  asked(body: unknown): string | null {
    if (!isRecord(body) || body['type'] !== 'candleSnapshot' || !isRecord(body['req'])) return null
    const { coin, interval, startTime: fromMs, endTime: askedMs } = body['req']
    if (typeof coin !== 'string' || typeof fromMs !== 'number' || typeof askedMs !== 'number')
      return null
    if (interval === '4h') this.#asked4h.set(coin, { fromMs, askedMs })
    if (interval === '1h' && askedMs - fromMs >= DEEP_HOURS_MIN * timeframeMs['1h'])
      for (const beginning of this.of(coin)) this.#add(coin, { ...beginning, hourMs: fromMs })
    const asked4h = this.#asked4h.get(coin)
    const isCold = askedMs - fromMs >= COLD_QUARTERS_MIN * timeframeMs['15m']
    if (interval !== '15m' || !isCold) return null
    if (asked4h !== undefined)
      this.#add(coin, {
        quarterMs: fromMs,
        hourMs: null,
        fourHoursMs: asked4h.fromMs,
        askedMs: asked4h.askedMs,
      })
    return coin
  }

  #add(coin: string, beginning: Beginning): void {
    const known = this.#of.get(coin) ?? []
    const isKnown = ({ quarterMs, hourMs, fourHoursMs }: Beginning) =>
      quarterMs === beginning.quarterMs &&
      hourMs === beginning.hourMs &&
      fourHoursMs === beginning.fourHoursMs
    if (!known.some(isKnown)) this.#of.set(coin, [...known, beginning])
  }
}
