import { count, sharePercent } from '../../components/format.ts'
import type { ReliabilityBin } from './record-rows.ts'

const SIDE_PX = 190
const MARGIN_PX = 52
const FOOT_PX = 42
const DOT_PX_MIN = 3
const DOT_PX_MAX = 10

type ReliabilityDiagramProps = {
  readonly family: string
  readonly bins: readonly ReliabilityBin[]
}

/** Stated probabilities against the share that happened: calibrated claims are on the diagonal. A list for screen readers. */
export function ReliabilityDiagram({ family, bins }: ReliabilityDiagramProps) {
  const most = Math.max(1, ...bins.map(({ n }) => n))
  const all = bins.reduce((sum, { n }) => sum + n, 0)
  const xOf = (share: number) => MARGIN_PX + share * SIDE_PX
  const yOf = (share: number) => SIDE_PX - share * SIDE_PX + DOT_PX_MAX
  return (
    <figure class="reliability" data-family={family}>
      <figcaption>
        <b>{family}</b>, {count(all)} claims
      </figcaption>
      <ul class="visually-hidden" aria-label={`Stated probability and what happened: ${family}`}>
        {bins.map(({ n, stated, happened }) => (
          <li key={stated}>
            stated {sharePercent(100 * stated)}, happened {sharePercent(100 * happened)} of{' '}
            {count(n)}
          </li>
        ))}
      </ul>
      <svg
        width={MARGIN_PX + SIDE_PX + DOT_PX_MAX}
        height={DOT_PX_MAX + SIDE_PX + FOOT_PX}
        aria-hidden="true"
      >
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
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <text x={xOf(share)} y={yOf(0) + 16} text-anchor="middle">
              {100 * share}
            </text>
            <text x={xOf(0) - 6} y={yOf(share) + 4} text-anchor="end">
              {100 * share}
            </text>
          </g>
        ))}
        <text x={xOf(0.5)} y={yOf(0) + 34} text-anchor="middle">
          stated, %
        </text>
        <text x={-yOf(0.5)} y={12} text-anchor="middle" transform="rotate(-90)">
          happened, %
        </text>
      </svg>
    </figure>
  )
}
