import { NOTHING, signedPercent } from '../../components/format.ts'
import { changePct, sparklinePath } from '../../components/sparkline-path.ts'

const BOX = { width: 84, height: 20 }

type SparklineProps = {
  /** Closes, the oldest first. */
  readonly closes: readonly (number | null)[]
}

/**
 * The course of the last closes; its text is the change over them. It has no color of a sign: the change over 24 hours,
 * which stands beside it, is of other hours.
 */
export function Sparkline({ closes }: SparklineProps) {
  const change = changePct(closes)
  if (change === null) return <>{NOTHING}</>
  return (
    <svg
      class="sparkline"
      viewBox={`-1 -1 ${BOX.width + 2} ${BOX.height + 2}`}
      role="img"
      aria-label={`${signedPercent(change)} over ${closes.length} closes`}
    >
      <path d={sparklinePath(closes, BOX)} />
    </svg>
  )
}
