import type { ComponentChildren } from 'preact'
import { duration, NOTHING, wholePercent } from './format.ts'

/**
 * A percentile rank as a place on a scale, in words as well.
 * @param value 0 to 100; null if unknown
 * @param hours of the readings among which it is
 */
export function percentile(value: number | null, hours: number): ComponentChildren {
  if (value === null) return NOTHING
  const rank = wholePercent(value)
  return (
    <span class="percentile">
      <span>
        {ordinal(rank)} <small>of {duration(hours * 3_600_000)}</small>
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
