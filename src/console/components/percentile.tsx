import { NOTHING } from './format.ts'

type PercentileProps = {
  /** 0 to 100; null if unknown. */
  readonly value: number | null
  /** Among which readings, such as `30 days`. */
  readonly among: string
}

/** A percentile rank as a place on a scale, in words as well. */
export function Percentile({ value, among }: PercentileProps) {
  if (value === null) return <>{NOTHING}</>
  // 0 and 100 only for below and above all, as labels of the answers have it.
  const rank = value <= 0 || value >= 100 ? value : Math.min(99, Math.max(1, Math.round(value)))
  return (
    <span class="percentile">
      <span>
        {ordinal(rank)} <small>of {among}</small>
      </span>
      <span class="percentile-scale" aria-hidden="true">
        <span style={{ left: `${rank}%` }} />
      </span>
    </span>
  )
}

function ordinal(rank: number): string {
  const isTeen = Math.floor((rank % 100) / 10) === 1
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][rank % 10] ?? 'th')
  return `${rank}${ending}`
}
