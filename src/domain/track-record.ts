/** Estimates that are compared with what happened. */
export const claimFamilies = [
  'confluence',
  'vote',
  'zone',
  'cascade',
  'regime',
  'slippage',
  'funding',
  'volatility',
  'gap',
  'peg',
] as const
export type ClaimFamily = (typeof claimFamilies)[number]

/** Size class of a coin at the time of the claim. */
export const coinClasses = ['majors', 'mid', 'tail'] as const
export type CoinClass = (typeof coinClasses)[number]

/** Levels of the quantiles that a claim states: central intervals of 50, 80 and 95 %. */
export const quantileLevels = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975] as const

/** The permanent name of a rule, such as `confluence.bias@1`: a changed rule has another version and begins without a record. */
export type RuleId = `${ClaimFamily}.${string}@${number}`

/** What is stated, and what the control states about the same. */
export type Statement =
  /** The event happens with `probability`. `control`: its probability by the control; null where the control is an event of its own, whose outcome is observed beside it. */
  | { readonly form: 'event'; readonly probability: number; readonly control: number | null }
  /** A value, by its quantiles at {@link quantileLevels}. */
  | {
      readonly form: 'quantiles'
      readonly values: readonly number[]
      readonly control: readonly number[]
    }
  /** A score that ranks the value which follows; `control` is the score of the control. */
  | { readonly form: 'rank'; readonly score: number; readonly control: number }

/** What the claims of each family state. */
export const formOfFamily: Readonly<Record<ClaimFamily, Statement['form']>> = {
  confluence: 'event',
  vote: 'event',
  zone: 'event',
  cascade: 'rank',
  regime: 'rank',
  slippage: 'quantiles',
  funding: 'quantiles',
  volatility: 'quantiles',
  gap: 'event',
  peg: 'event',
}

export type Claim = {
  readonly rule: RuleId
  /** A coin, or the whole market (`WHOLE_MARKET`). */
  readonly coin: string
  readonly coinClass: CoinClass
  readonly madeAtMs: number
  readonly horizonMs: number
  readonly statement: Statement
  /** Numbers by which the outcome is determined, such as a direction or a level; the family says which. */
  readonly reference: readonly number[]
}

/** Why a claim was not observed. `no_trade`: nobody traded as claimed. Saved by place: further ones are appended. */
export const voidReasons = ['gap', 'restart', 'outage', 'delisted', 'no_trade'] as const
export type VoidReason = (typeof voidReasons)[number]

export type ClaimOutcome =
  /** Not observed: neither a hit nor a miss. */
  | { readonly kind: 'void'; readonly reason: VoidReason }
  | { readonly kind: 'event'; readonly happened: boolean; readonly controlHappened: boolean | null }
  | { readonly kind: 'value'; readonly value: number }

export type ResolvedClaim = Claim & {
  readonly resolvedAtMs: number
  readonly outcome: ClaimOutcome
}

/** A resolved claim on disk. `sequence` counts the claims of its family and day, in the order of their resolution. */
export type StoredClaim = ResolvedClaim & { readonly sequence: number }

/** A rule makes at most one claim about a coin at an instant. */
export function claimName({ rule, coin, madeAtMs }: Claim): string {
  return `${rule} ${coin} ${madeAtMs}`
}

export function familyOf(rule: RuleId): ClaimFamily {
  return rule.slice(0, rule.indexOf('.')) as ClaimFamily
}
