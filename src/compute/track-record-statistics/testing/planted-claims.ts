import type {
  ClaimOutcome,
  CoinClass,
  ResolvedClaim,
  RuleId,
  Statement,
} from '../../../domain/track-record.ts'
import { DAY_MS } from '../blocks.ts'
import { TrackRecord } from '../track-record.ts'

const HOUR_MS = 3_600_000
export const FIRST_DAY = 20_000

/** A claim of the noon of a day, or of the given hour, resolved at its horizon. */
export function plantedClaim(
  day: number,
  statement: Statement,
  outcome: ClaimOutcome,
  more: Partial<Pick<ResolvedClaim, 'rule' | 'coin' | 'horizonMs' | 'coinClass'>> & {
    readonly hour?: number
  } = {},
): ResolvedClaim {
  const { hour = 12, ...rest } = more
  const madeAtMs = day * DAY_MS + hour * HOUR_MS
  const horizonMs = more.horizonMs ?? HOUR_MS
  return {
    rule: 'confluence.planted@1' satisfies RuleId,
    coin: 'BTC',
    coinClass: 'majors' satisfies CoinClass,
    ...rest,
    ...{ madeAtMs, horizonMs, statement, outcome, resolvedAtMs: madeAtMs + horizonMs },
    reference: [],
  }
}

export const event = (probability: number, happened: boolean, control: number | null = 0.5) =>
  [
    { form: 'event', probability, control } satisfies Statement,
    { kind: 'event', happened, controlHappened: null } satisfies ClaimOutcome,
  ] as const

/** Passes claims of consecutive days to a record, and closes every day. */
export function recordOf(
  days: number,
  claimsOf: (day: number) => readonly ResolvedClaim[],
  record = new TrackRecord(),
): TrackRecord {
  for (let day = FIRST_DAY; day < FIRST_DAY + days; day += 1) {
    for (const claim of claimsOf(day)) {
      record.made(claim)
      record.resolved(claim)
    }
    record.advance({ venueMs: (day + 1) * DAY_MS })
  }
  record.advance({ venueMs: (FIRST_DAY + days + 9) * DAY_MS })
  return record
}
