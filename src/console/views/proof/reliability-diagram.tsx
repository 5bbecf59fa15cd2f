import { count, sharePercent } from '../../components/format.ts'
import type { ReliabilityBin } from './record-rows.ts'

const SIDE_PX = 220
const MARGIN_PX = 28
const DOT_PX_MIN = 3
const DOT_PX_MAX = 10

/** Stated probabilities against the share that happened: calibrated claims are on the diagonal. A list for screen readers. */
export function ReliabilityDiagram({ bins }: { readonly bins: readonly ReliabilityBin[] }) {
  const most = Math.max(1, ...bins.map(({ n }) => n))
  const xOf = (share: number) => MARGIN_PX + share * SIDE_PX
  const yOf = (share: number) => SIDE_PX - share * SIDE_PX + DOT_PX_MAX
  const size = SIDE_PX + MARGIN_PX + DOT_PX_MAX
  return (
    <figure class="reliability">
      <ul class="visually-hidden" aria-label="Stated probability and what happened">
        {bins.map(({ n, stated, happened }) => (
          <li key={stated}>
            stated {sharePercent(100 * stated)}, happened {sharePercent(100 * happened)} of{' '}
            {count(n)}
          </li>
        ))}
      </ul>
      <svg width={size} height={size + MARGIN_PX - DOT_PX_MAX} aria-hidden="true">
        <rect x={xOf(0)} y={yOf(1)} width={SIDE_PX} height={SIDE_PX} class="reliability-frame" />
        <line x1={xOf(0)} y1={yOf(0)} x2={xOf(1)} y2={yOf(1)} class="reliability-diagonal" />
        {bins.map(({ n, stated, happened }) => (
          <circle
            key={stated}
            cx={xOf(stated)}
            cy={yOf(happened)}
            r={DOT_PX_MIN + (DOT_PX_MAX - DOT_PX_MIN) * Math.sqrt(n / most)}
            class="reliability-dot"
          />
        ))}
        <text x={xOf(0.5)} y={yOf(0) + 18} text-anchor="middle">
          stated
        </text>
        <text x={-yOf(0.5)} y={14} text-anchor="middle" transform="rotate(-90)">
          happened
        </text>
      </svg>
      <figcaption class="fine">
        Claims of events by stated probability; larger dots are more claims. On the diagonal what is
        stated happens.
      </figcaption>
    </figure>
  )
}
