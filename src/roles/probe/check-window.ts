/** A check of a service, as it ended. */
export type CheckResult = {
  readonly check: CheckName
  readonly atMs: number
  /** `skipped`: not made, because the budget of the day is used. */
  readonly outcome: 'ok' | 'failed' | 'skipped'
  /** null for a skipped one, and without a response. */
  readonly latencyMs: number | null
  /** Age of the data, seconds; null where none was stated. */
  readonly ageSeconds: number | null
  /** Why it failed or was skipped. */
  readonly reason: string | null
}

export type CheckName = 'health' | 'quote' | 'buy'

export type Quantiles = { readonly p50: number; readonly p95: number; readonly p99: number }

/** Figures of one check over its last results. */
export type CheckFigures = {
  readonly check: CheckName
  /** Without skipped ones. */
  readonly checks: number
  /** Percent, never rounded up to 100; null before the first. */
  readonly availabilityPct: number | null
  /** Of successful checks; null without one. */
  readonly latencyMs: Quantiles | null
  readonly ageSeconds: Quantiles | null
  readonly last: CheckResult
}

/** A day of one check a minute. */
const RESULTS_MAX = 1_440

/** The last results of each check. */
export class CheckWindow {
  readonly #results = new Map<CheckName, CheckResult[]>()

  add(result: CheckResult): CheckFigures {
    const results = this.#results.get(result.check) ?? []
    results.push(result)
    if (results.length > RESULTS_MAX) results.shift()
    this.#results.set(result.check, results)
    return figuresOf(result, results)
  }

  /** One per check, in the order of the first results. */
  figures(): readonly CheckFigures[] {
    return [...this.#results.values()].flatMap((results) => {
      const last = results.at(-1)
      return last === undefined ? [] : [figuresOf(last, results)]
    })
  }
}

function figuresOf(last: CheckResult, results: readonly CheckResult[]): CheckFigures {
  const made = results.filter(({ outcome }) => outcome !== 'skipped')
  const good = made.filter(({ outcome }) => outcome === 'ok')
  return {
    check: last.check,
    checks: made.length,
    availabilityPct:
      made.length === 0 ? null : Math.floor((10_000 * good.length) / made.length) / 100,
    latencyMs: quantilesOf(good.flatMap(({ latencyMs }) => latencyMs ?? [])),
    ageSeconds: quantilesOf(good.flatMap(({ ageSeconds }) => ageSeconds ?? [])),
    last,
  }
}

/** Nearest rank: each quantile is a value that was measured. */
function quantilesOf(values: readonly number[]): Quantiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
