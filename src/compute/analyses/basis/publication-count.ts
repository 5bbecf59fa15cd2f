const MINUTE_MS = 60_000
const MINUTES = 60

/** Counts the distinct publications behind the minutes of the last hour of each series, since the start. */
export class PublicationCount {
  readonly #bySeries = new Map<string, { minute: number; publishedAtMs: number }[]>()

  observe(series: string, publishedAtMs: number, nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS)
    const known = this.#bySeries.get(series) ?? []
    const recent = known.filter((one) => one.minute > minute - MINUTES && one.minute !== minute)
    recent.push({ minute, publishedAtMs })
    this.#bySeries.set(series, recent)
  }

  of(series: string, nowMs: number): number {
    const afterMinute = Math.floor(nowMs / MINUTE_MS) - MINUTES
    const recent = this.#bySeries.get(series)?.filter(({ minute }) => minute > afterMinute)
    return new Set(recent?.map(({ publishedAtMs }) => publishedAtMs)).size
  }

  forget(isSubject: (series: string) => boolean): void {
    for (const series of this.#bySeries.keys())
      if (!isSubject(series)) this.#bySeries.delete(series)
  }
}
