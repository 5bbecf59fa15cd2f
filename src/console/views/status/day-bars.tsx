import { percent } from '../../components/format.ts'

type DayBarsProps = {
  /** Percent by day, the oldest first; null without data. */
  readonly shares: readonly (number | null)[]
  readonly days: readonly string[]
}

/** A bar per day in the color of its share. Screen readers get the worst day. */
export function DayBars({ shares, days }: DayBarsProps) {
  const known = shares.filter((share) => share !== null)
  const worst = known.length === 0 ? null : Math.min(...known)
  return (
    <span class="day-bars">
      <span class="visually-hidden">Worst day {percent(worst)}</span>
      {shares.map((share, at) => (
        <span
          key={days[at]}
          aria-hidden="true"
          class={`day-bar tone-${toneOf(share)}`}
          title={`${days[at]}: ${share === null ? 'no data' : percent(share)}`}
        />
      ))}
    </span>
  )
}

function toneOf(share: number | null): string {
  if (share === null) return 'plain'
  if (share >= 99.5) return 'up'
  return share >= 95 ? 'warn' : 'down'
}
