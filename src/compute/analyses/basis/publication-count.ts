const MINUTE_MS = 60_000
const MINUTES = 60

/** How many different publications stand behind the last hour of minutes of each series; counted from the start on. */
export class PublicationCount {
  readonly #bySeries = new Map<string, { minute: number; publishedAtMs: number }[]>()

  observe(series: string, publishedAtMs: number, nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS)
    const known = this.#bySeries.get(series) ?? []
    const recent = known.filter((one) => one.minute > minute - MINUTES && one.minute !== minute)
    recent.push({ minute, publishedAtMs })
    this.#bySeries.set(series, recent)
  }

  of(series: string): number {
    return new Set(this.#bySeries.get(series)?.map(({ publishedAtMs }) => publishedAtMs)).size
  }

  forget(isSubject: (series: string) => boolean): void {
    for (const series of this.#bySeries.keys())
      if (!isSubject(series)) this.#bySeries.delete(series)
  }
}
