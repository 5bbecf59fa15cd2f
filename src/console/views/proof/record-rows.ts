/** `/track-record`, as far as the page shows it. */
export type RecordAnswer = {
  readonly timestamp_iso: string
  readonly records: readonly LiveRecord[]
  readonly backtests: readonly (RecordFigures & RecordHead & { readonly until_iso: string })[]
}

type RecordHead = {
  readonly rule: string
  readonly horizon_hours: number
  readonly coin_class: string
  readonly status: string
}

type RecordFigures = {
  readonly n_eff: number
  readonly lift: number | null
  readonly lift_low: number | null
  readonly lift_high: number | null
  readonly skill: number | null
}

export type ReliabilityBin = {
  readonly n: number
  readonly stated: number
  readonly happened: number
}

type LiveRecord = RecordHead & {
  readonly since: string
  readonly claimed_until_iso: string | null
  readonly windows: readonly RecordFigures[]
  readonly reliability?: readonly ReliabilityBin[]
}

/** One row of the table: the live record, or the backtest while that is too short. */
export type RecordRow = RecordHead &
  RecordFigures & {
    readonly name: string
    readonly evidence: 'live' | 'backtest'
    /** Day since which it is live, or until which the recorded data reach. */
    readonly day: string
    /** Day of the newest claim of a rule that is not claimed now. */
    readonly claimedUntil: string | null
  }

/** In the order of the backtests, then by rule, horizon and class. */
export function recordRows({
  records,
  backtests,
}: Pick<RecordAnswer, 'records' | 'backtests'>): readonly RecordRow[] {
  const live = new Map(records.map((record) => [nameOf(record), record]))
  const recorded = backtests.map((one): RecordRow => {
    const name = nameOf(one)
    const record = live.get(name)
    live.delete(name)
    return record === undefined || record.status === 'measuring'
      ? { ...one, name, evidence: 'backtest', day: one.until_iso, claimedUntil: null }
      : liveRow(record)
  })
  const others = Array.from(live.values(), liveRow)
  return [...recorded, ...others.sort((one, other) => names.compare(one.name, other.name))]
}

const names = new Intl.Collator('en', { numeric: true })

/** By family of estimates: stated probabilities against what happened, of its rules, horizons and classes together. */
export function reliabilityOf({
  records,
}: Pick<RecordAnswer, 'records'>): ReadonlyMap<string, readonly ReliabilityBin[]> {
  const families = new Map<string, ReliabilityBin[]>()
  for (const { rule, reliability = [] } of records) {
    const family = rule.slice(0, rule.indexOf('.'))
    if (reliability.length > 0)
      families.set(family, [...(families.get(family) ?? []), ...reliability])
  }
  return new Map(Array.from(families, ([family, bins]) => [family, addedUp(bins)]))
}

/** Bins of the same tenth become one. */
function addedUp(all: readonly ReliabilityBin[]): readonly ReliabilityBin[] {
  const bins = new Map<number, { n: number; stated: number; happened: number }>()
  for (const { n, stated, happened } of all) {
    const tenth = Math.min(9, Math.floor(stated * 10))
    const bin = bins.get(tenth) ?? { n: 0, stated: 0, happened: 0 }
    bin.n += n
    bin.stated += n * stated
    bin.happened += n * happened
    bins.set(tenth, bin)
  }
  return Array.from(bins.values(), ({ n, stated, happened }) => ({
    n,
    stated: stated / n,
    happened: happened / n,
  })).sort((one, other) => one.stated - other.stated)
}

function liveRow(record: LiveRecord): RecordRow {
  const none = { n_eff: 0, lift: null, lift_low: null, lift_high: null, skill: null }
  const figures = record.windows.at(-1) ?? none
  const claimedUntil = record.claimed_until_iso?.slice(0, 'YYYY-MM-DD'.length) ?? null
  const row = { ...record, ...figures, name: nameOf(record), claimedUntil }
  return { ...row, evidence: 'live', day: record.since }
}

function nameOf({ rule, horizon_hours, coin_class }: RecordHead): string {
  return `${rule} ${horizon_hours} ${coin_class}`
}
