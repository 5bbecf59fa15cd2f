import type { PulseIndicators } from '../../src/compute/indicators/pulse-indicators.ts'
import { orNull, percent, price } from '../../src/compute/render/significance.ts'
import type { Timeframe } from '../../src/domain/timeframe.ts'
import { timeframes } from '../../src/domain/timeframe.ts'
import type { Context } from '../../src/simulator/market/market.ts'
import type { Beginning, TimeframeTruth } from './candle-truth.ts'
import { CandleTruth } from './candle-truth.ts'
import {
  isContextOf,
  isInterestOf,
  isMarkOf,
  isQuoteOf,
  isRateOf,
  isSettlementOf,
  isSpreadOf,
} from './figures-truth.ts'
import type { ObservedMarket, Seen } from './observed-market.ts'
import { REMEMBERED_MS } from './observed-market.ts'
import { CLOSING_MS } from './promises.ts'
import type { Answered, Body, TimeframeBody } from './reading.ts'
import { statedAgeMs } from './reading.ts'

export type Subject = 'candles' | 'book' | 'context' | 'settlements'

/** One statement of an answer, its stated age, and its verdict by the market. */
export type Claim = {
  /** The answer or the component that makes the statement. */
  readonly of: string
  readonly subject: Subject
  readonly ageMs: number
  readonly verdict: Verdict
}

export type Verdict =
  /** True until that instant; Infinity if still true. */
  | { readonly kind: 'true'; readonly untilMs: number }
  | { readonly kind: 'wrong'; readonly detail: string }
  /** Older than the states that the simulation keeps. */
  | { readonly kind: 'unknown' }

export type BeginningsOf = (coin: string) => readonly Beginning[]

/** Stated age of an input; undefined if the answer states none. */
type AgeMsOf = (input: string) => number | undefined

const DETAIL_LENGTH_MAX = 600
/** Documented error bound of an answer's averages. */
const SEED_ERROR_MAX = 1e-4
const HOUR_MS = 3_600_000

/** Compares statements of answers with every state that the market had. */
export class Claims {
  readonly #market: ObservedMarket
  readonly #beginnings: BeginningsOf
  readonly #candles = new Map<string, CandleTruth>()

  constructor(market: ObservedMarket, beginningsOf: BeginningsOf) {
    this.#market = market
    this.#beginnings = beginningsOf
  }

  of(answered: Answered): readonly Claim[] {
    return this.#of(answered, (input) => statedAgeMs(answered, input))
  }

  #of(answered: Answered, ageMsOf: AgeMsOf): readonly Claim[] {
    const { analysis } = answered
    switch (analysis) {
      case 'pulse':
        return this.#ofPulse(answered, ageMsOf)
      case 'spread':
        return claimed(analysis, 'book', ageMsOf('book'), (ageMs) =>
          ofSeen(answered.body, ageMs, this.#market.booksSeen(answered.coin), isSpreadOf),
        )
      case 'oi':
        return this.#ofContext(answered, ageMsOf('open_interest'), isInterestOf)
      case 'liquidations':
        return this.#ofContext(answered, ageMsOf('mark'), isMarkOf)
      case 'funding':
        return [
          ...this.#ofContext(answered, ageMsOf('funding'), isRateOf),
          ...claimed(analysis, 'settlements', 0, () => this.#ofSettlements(answered)),
        ]
      case 'bundle':
        return this.#ofBundle(answered, ageMsOf)
      default:
        // Whole-market answers are proven by their own tests; here only their schema is checked.
        return []
    }
  }

  #ofPulse(answered: Answered, ageMsOf: AgeMsOf): readonly Claim[] {
    const { analysis, coin, body } = answered
    const shown = timeframes.filter((timeframe) => body.timeframes?.[timeframe])
    return [
      ...claimed(analysis, 'candles', ageMsOf(`candles_${shown[0]}`), (ageMs) =>
        this.#ofCandles(answered, ageMs, shown),
      ),
      ...this.#ofContext(answered, ageMsOf('funding'), isContextOf),
      // A quote is the newer one of whole book and top of book.
      ...claimed(analysis, 'book', ageMsOf('book'), (ageMs) =>
        eitherOf(
          ofSeen(body, ageMs, this.#market.booksSeen(coin), isQuoteOf),
          ofSeen(body, ageMs, this.#market.topsSeen(coin), isQuoteOf),
        ),
      ),
    ]
  }

  /** Each component is an answer as old as its oldest input; a pulse states its own ages. */
  #ofBundle(answered: Answered, ageMsOf: AgeMsOf): readonly Claim[] {
    const { pulse, spread, funding } = answered.body as unknown as Readonly<Record<string, Body>>
    return [
      ...(pulse === undefined ? [] : this.of({ ...answered, analysis: 'pulse', body: pulse })),
      ...Object.entries({ spread, funding }).flatMap(([name, body]) =>
        body === undefined
          ? []
          : this.#of({ ...answered, analysis: name, body }, () => ageMsOf(name)),
      ),
    ].map((claim) => ({ ...claim, of: `bundle.${claim.of}` }))
  }

  #ofContext(
    { analysis, coin, body }: Answered,
    statedMs: number | undefined,
    isOf: (body: Body, context: Context) => boolean,
  ): readonly Claim[] {
    return claimed(analysis, 'context', statedMs, (ageMs) =>
      ofSeen(body, ageMs, this.#market.contextsSeen(coin), isOf),
    )
  }

  /** Settled funding is final: true for ever, or never. */
  #ofSettlements({ coin, body, trueMs }: Answered): Verdict {
    for (const row of body.funding?.history ?? []) {
      if (!row.settled) continue
      const fromMs = Date.parse(row.timestamp_iso)
      const range = { fromMs, untilMs: fromMs + HOUR_MS }
      const settled = this.#market.fundingHistory(coin, range, trueMs, 1)[0]
      if (settled === undefined || !isSettlementOf(row, settled))
        return { kind: 'wrong', detail: `${JSON.stringify(row)}, not ${JSON.stringify(settled)}` }
    }
    return { kind: 'true', untilMs: Number.POSITIVE_INFINITY }
  }

  #ofCandles(answered: Answered, ageMs: number, shown: readonly Timeframe[]): Verdict {
    const { coin, body, trueMs } = answered
    let truth = this.#candles.get(coin)
    if (truth === undefined) {
      truth = new CandleTruth(this.#market, coin)
      this.#candles.set(coin, truth)
    }
    const states = truth.states(trueMs)
    const beginnings = this.#beginnings(coin)
    for (let at = states.length - 1; at >= 0; at -= 1) {
      const state = states[at]
      if (state === undefined) break
      for (const from of beginnings) {
        const isTrue = shown.every((timeframe) => {
          const valued = truth.valued(timeframe, state, from)
          const stated = body.timeframes?.[timeframe]
          return valued !== null && stated !== undefined && differs(stated, valued) === null
        })
        if (isTrue) return { kind: 'true', untilMs: state.untilMs }
      }
    }
    const oldest = states[0]
    if (oldest !== undefined && trueMs - ageMs - CLOSING_MS < oldest.fromMs)
      return { kind: 'unknown' }
    return { kind: 'wrong', detail: this.#difference(answered, shown, truth) }
  }

  /** Readable difference between the answer and the current truth. */
  #difference({ coin, body, trueMs }: Answered, shown: readonly Timeframe[], truth: CandleTruth) {
    const now = truth.states(trueMs).at(-1)
    const from = this.#beginnings(coin).at(-1)
    if (now === undefined || from === undefined) return 'no history was ever asked'
    return shown
      .map((timeframe) => {
        const valued = truth.valued(timeframe, now, from)
        const stated = body.timeframes?.[timeframe]
        if (valued === null || stated === undefined) return `${timeframe}: no bars`
        return `${timeframe}: ${differs(stated, valued) ?? 'as now'}`
      })
      .join('; ')
  }
}

/** No claim without a stated age: the answer does not use that input. */
function claimed(
  of: string,
  subject: Subject,
  ageMs: number | undefined,
  verdictOf: (ageMs: number) => Verdict,
): readonly Claim[] {
  return ageMs === undefined ? [] : [{ of, subject, ageMs, verdict: verdictOf(ageMs) }]
}

function eitherOf(one: Verdict, other: Verdict): Verdict {
  if (one.kind !== 'true') return other.kind === 'true' ? other : one
  if (other.kind !== 'true') return one
  return { kind: 'true', untilMs: Math.max(one.untilMs, other.untilMs) }
}

function ofSeen<Value>(
  body: Body,
  ageMs: number,
  seen: readonly Seen<Value>[],
  isOf: (body: Body, value: Value) => boolean,
): Verdict {
  for (let at = seen.length - 1; at >= 0; at -= 1) {
    const state = seen[at]
    if (state === undefined || !isOf(body, state.value)) continue
    return { kind: 'true', untilMs: seen[at + 1]?.atMs ?? Number.POSITIVE_INFINITY }
  }
  return ageMs > REMEMBERED_MS / 2
    ? { kind: 'unknown' }
    : { kind: 'wrong', detail: JSON.stringify(body).slice(0, DETAIL_LENGTH_MAX) }
}

/** @returns the first figure that differs, or null. */
function differs(stated: TimeframeBody, valued: TimeframeTruth): string | null {
  const { bars, isWhole, indicators } = valued
  const shown = flat(stated.indicators)
  if (stated.bars !== bars) return `bars is ${stated.bars}, not ${bars}`
  if (stated.bars_is_whole_history !== isWhole)
    return `bars_is_whole_history is ${stated.bars_is_whole_history}`
  const { ema_200: ema200 } = stated.indicators
  if (typeof ema200 === 'number' && !(Math.abs(ema200 / valued.ema200 - 1) <= SEED_ERROR_MAX))
    return `ema_200 is ${ema200}, and ${valued.ema200} over the whole history`
  for (const [name, value] of Object.entries(flat(rounded(indicators))))
    if (shown[name] !== value) return `${name} is ${shown[name]}, not ${value}`
  return null
}

/** Rounded to the digits of an answer. */
function rounded(indicators: PulseIndicators): object {
  const { bollinger } = indicators
  return {
    ema_20: orNull(indicators.ema_20, price),
    ema_50: orNull(indicators.ema_50, price),
    ema_200: orNull(indicators.ema_200, price),
    vwap_20: orNull(indicators.vwap_20, price),
    rsi_14: orNull(indicators.rsi_14, percent),
    rsi_zone: indicators.rsi_zone,
    atr_14: orNull(indicators.atr_14, price),
    atr_pct: orNull(indicators.atr_pct, percent),
    zscore_100: orNull(indicators.zscore_100, percent),
    bollinger: {
      upper: orNull(bollinger.upper, price),
      middle: orNull(bollinger.middle, price),
      lower: orNull(bollinger.lower, price),
      width_pct: orNull(bollinger.width_pct, percent),
      position_pct: orNull(bollinger.position_pct, percent),
    },
    trend: indicators.trend,
  }
}

function flat(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      typeof member === 'object' && member !== null
        ? Object.entries(member).map(([inner, leaf]) => [`${name}.${inner}`, leaf])
        : [[name, member]],
    ),
  )
}
