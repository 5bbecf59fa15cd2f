import { NOTHING, wholePercent } from './format.ts'

type PercentileProps = {
  /** 0 to 100; null if unknown. */
  readonly value: number | null
  /** Among which readings, such as `30 days`. */
  readonly among: string
}

/** A percentile rank as a place on a scale, in words as well. */
export function Percentile({ value, among }: PercentileProps) {
  if (value === null) return <>{NOTHING}</>
  const rank = wholePercent(value)
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
