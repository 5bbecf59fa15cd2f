import type { MarketEvent } from '../../src/domain/event.ts'

const MINUTE_MS = 60_000
const FRESH_MS = 15_000

export type NaiveSample = {
  readonly timeMs: number
  readonly interest: number
  readonly mark: number
}

/**
 * Minute samples of a coin from the raw log: for each whole minute with an event, the last context before
 * it if that is at most 15 s old; preceded by the samples loaded from history. Each minute reads the whole
 * log again.
 */
export function naiveSamples(log: readonly MarketEvent[], coin: string): NaiveSample[] {
  const found = new Map<number, NaiveSample>()
  for (const event of log) {
    if (event.kind !== 'sample-history' || event.coin !== coin) continue
    for (const sample of event.samples)
      found.set(sample.timeMs, {
        timeMs: sample.timeMs,
        interest: sample.openInterestBase,
        mark: sample.markPrice,
      })
  }
  const contexts = log.filter((event) => event.kind === 'context' && event.coin === coin)
  const minutes = new Set(
    log.slice(1).map(({ timeExchangeMs }) => Math.floor(timeExchangeMs / MINUTE_MS)),
  )
  for (const minute of minutes) {
    const timeMs = minute * MINUTE_MS
    const context = contexts.findLast(({ timeExchangeMs }) => timeExchangeMs < timeMs)
    if (context?.kind !== 'context' || timeMs - context.timeExchangeMs > FRESH_MS) continue
    found.set(timeMs, {
      timeMs,
      interest: context.openInterestBase,
      mark: context.markPrice,
    })
  }
  return [...found.values()].sort((one, other) => one.timeMs - other.timeMs)
}
