import { useRef } from 'preact/hooks'
import { useElementWidth } from './element-width.ts'

export type Dot = {
  readonly name: string
  readonly value: number
  /** Half the width of its interval; null without one. */
  readonly error: number | null
  /** The one that counts is filled. */
  readonly isUsed: boolean
}

type DotPlotProps = {
  readonly label: string
  readonly dots: readonly Dot[]
  /** Largest value of the scale; see {@link reachOf}. */
  readonly reach: number
  /** Shaded around zero. */
  readonly band: number
  readonly format: (value: number) => string
}

const ROW_PX = 26
const FOOT_PX = 22
/** With its name above. */
const HIGH_ROW_PX = 40
const NAME_SHARE = 0.38
const NAME_PX_MAX = 230
const CHARACTER_PX = 6.6
const VALUE_PX = 82

/** Place of the labels on the scale, as a share of its reach. */
const TICK = 0.9
const TICK_PX = 72

/** A scale that holds all dots with their errors, and the band. */
export function reachOf(dots: readonly Dot[], band: number): number {
  const extents = dots.map(({ value, error }) => Math.abs(value) + (error ?? 0))
  return 1.05 * Math.max(1e-9, band, ...extents)
}

/** Values around zero as dots with error bars, a row each. The rows are a list for screen readers. */
export function DotPlot({ label, dots, reach, band, format }: DotPlotProps) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useElementWidth(frame)
  const namePx = Math.min(NAME_PX_MAX, NAME_SHARE * width)
  // Where the names have no room next to the dots, they stand above them.
  const isBeside = dots.every(({ name }) => CHARACTER_PX * name.length <= namePx)
  const [left, rowPx] = isBeside ? [namePx, ROW_PX] : [0, HIGH_ROW_PX]
  const right = Math.max(left + 1, width - VALUE_PX)
  const xOf = (value: number) => left + ((value / reach + 1) / 2) * (right - left)
  const height = dots.length * rowPx + FOOT_PX
  return (
    <div ref={frame} class="dot-plot">
      <ul class="visually-hidden" aria-label={label}>
        {dots.map(({ name, value, error, isUsed }, at) => (
          <li key={`${name} ${at}`}>
            {name}: {format(value)}
            {error !== null && `, error ${format(error)}`}
            {isUsed && ', used'}
          </li>
        ))}
      </ul>
      {width > 0 && (
        <svg width={width} height={height} aria-hidden="true">
          <rect
            class="noise"
            x={xOf(-band)}
            width={xOf(band) - xOf(-band)}
            y={0}
            height={height - FOOT_PX}
          />
          <line class="zero" x1={xOf(0)} x2={xOf(0)} y1={0} y2={height - FOOT_PX} />
          {dots.map(({ name, value, error, isUsed }, at) => {
            const y = (at + 1) * rowPx - ROW_PX / 2
            return (
              <g key={`${name} ${at}`} class={isUsed ? 'dot used' : 'dot'} data-value={value}>
                <text x={0} y={isBeside ? y + 4 : y - ROW_PX / 2}>
                  {name}
                </text>
                {error !== null && (
                  <line x1={xOf(value - error)} x2={xOf(value + error)} y1={y} y2={y} />
                )}
                <circle cx={xOf(value)} cy={y} r={4.5} />
                <text class="value" x={width} y={y + 4}>
                  {format(value)}
                </text>
              </g>
            )
          })}
          {ticksOf(reach, isBeside ? right - left : 0).map((value) => (
            <text key={value} class="scale" x={xOf(value)} y={height - 6}>
              {format(value)}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}

/** The ends too, where their labels have room. */
function ticksOf(reach: number, width: number): readonly number[] {
  return width < 3 * TICK_PX ? [0] : [-TICK * reach, 0, TICK * reach]
}
