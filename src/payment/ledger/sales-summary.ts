/** Settled payments of one UTC day, route and network. */
export type SoldLine = {
  /** Such as `2026-01-31`. */
  readonly day: string
  readonly route: string
  readonly network: string
  readonly payments: number
  readonly amount: bigint
}

/** The states of `PaymentState` in which a sale is neither paid nor refused. */
type OpenState = 'settling' | 'unknown' | 'unconfirmed' | 'lost'

/** Age of a payment since its settlement began. */
type OpenAge = 'minute' | 'hour' | 'day' | 'older'

export type OpenLine = {
  readonly state: OpenState
  /** The first of the list that the age does not exceed. */
  readonly age: OpenAge
  readonly payments: number
  readonly amount: bigint
}

export type BuyerLine = {
  readonly payer: string
  readonly payments: number
  readonly amount: bigint
}

/** Sums of a ledger. Amounts are millionths of a USDC. */
export type SalesSummary = {
  /** By day, route and network, in this order. */
  readonly sold: readonly SoldLine[]
  /** Without a final outcome, whenever they began, and lost ones that began in the window; by state and age. */
  readonly open: readonly OpenLine[]
  /** Wallets with a settled payment in the window. */
  readonly buyers: number
  /** The largest by amount. */
  readonly largest: readonly BuyerLine[]
}

export const LARGEST_BUYERS_MAX = 10

/** Upper bounds of the ages; what is above the last is `older`. */
const OPEN_AGES = [
  { age: 'minute', msMax: 60_000 },
  { age: 'hour', msMax: 3_600_000 },
  { age: 'day', msMax: 86_400_000 },
] as const satisfies readonly { readonly age: OpenAge; readonly msMax: number }[]

const STATES: readonly OpenState[] = ['settling', 'unknown', 'unconfirmed', 'lost']
const AGES: readonly OpenAge[] = ['minute', 'hour', 'day', 'older']

/** By state, then from young to old. */
export function sortedOpen(lines: readonly OpenLine[]): readonly OpenLine[] {
  const rankOf = ({ state, age }: OpenLine) =>
    STATES.indexOf(state) * AGES.length + AGES.indexOf(age)
  return [...lines].sort((a, b) => rankOf(a) - rankOf(b))
}

/** SQL of the age of a payment, from the column `begun_ms` and a parameter for the present time. */
export function ageColumn(nowParameter: string): string {
  const cases = OPEN_AGES.map(
    ({ age, msMax }) => `WHEN ${nowParameter} - begun_ms <= ${msMax} THEN '${age}'`,
  )
  return `CASE ${cases.join(' ')} ELSE 'older' END`
}
