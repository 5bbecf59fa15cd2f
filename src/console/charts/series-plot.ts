import UPlot from 'uplot'
import { timeLabel } from '../components/format.ts'
import type { ChartTone } from './chart-color.ts'
import { toneColor } from './chart-color.ts'

/** One line, area or row of bars of a {@link SeriesPlot}. */
type SeriesColumn = {
  readonly name: string
  /** One for each position; null leaves a gap. */
  readonly values: readonly (number | null)[]
  readonly tone: ChartTone
  readonly shape?: 'line' | 'dashed' | 'area' | 'bars'
}

type SeriesAxis = {
  readonly name: string
  /** Ascending; `time` is Unix milliseconds. */
  readonly values: readonly number[]
  readonly kind: 'time' | 'log'
  readonly format: (value: number) => string
}

export type SeriesPicture = {
  readonly x: SeriesAxis
  readonly columns: readonly SeriesColumn[]
  readonly format: (value: number) => string
  /** Filled between an upper and a lower column, by their places. */
  readonly band?: readonly [upper: number, lower: number]
  /** The vertical axis includes zero. */
  readonly isFromZero?: boolean
}

const FONT = '12px system-ui, sans-serif'
const CHARACTER_PX = 6.8
const LOG = 3

/** A uPlot chart of one structure; values change by `update`. */
export class SeriesPlot {
  readonly #plot: UPlot

  constructor(
    host: HTMLElement,
    picture: SeriesPicture,
    size: { readonly width: number; readonly height: number },
    onCursor: (at: number | null) => void,
  ) {
    this.#plot = new UPlot(optionsOf(picture, size, onCursor), dataOf(picture), host)
  }

  update(picture: SeriesPicture): void {
    this.#plot.setData(dataOf(picture))
  }

  resize(width: number, height: number): void {
    this.#plot.setSize({ width, height })
  }

  /** Puts the cursor on a position. */
  point(at: number): void {
    const x = this.#plot.data[0][at]
    if (x !== undefined) this.#plot.setCursor({ left: this.#plot.valToPos(x, 'x'), top: 0 })
  }

  destroy(): void {
    this.#plot.destroy()
  }
}

function dataOf({ x, columns }: SeriesPicture): UPlot.AlignedData {
  return [[...x.values], ...columns.map(({ values }) => [...values])]
}

function optionsOf(
  { x, columns, format, band, isFromZero = false }: SeriesPicture,
  size: { readonly width: number; readonly height: number },
  onCursor: (at: number | null) => void,
): UPlot.Options {
  const stroke = () => toneColor('muted')
  const grid = { stroke: () => toneColor('line'), width: 1 }
  const axis = { font: FONT, stroke, grid, ticks: { ...grid, size: 4 } }
  return {
    ...size,
    ms: 1,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: {
        time: x.kind === 'time',
        ...(x.kind === 'log' && { distr: LOG, range: (_plot, low, high) => [low, high] }),
        ...(columns.some(({ shape }) => shape === 'bars') && { range: roomForBars }),
      },
      y: { range: (_plot, low, high) => verticalRange(low, high, isFromZero) },
    },
    axes: [
      { ...axis, ...horizontalLabels(x), size: 26 },
      {
        ...axis,
        values: (_plot, splits) => splits.map((split) => format(split)),
        size: (_plot, texts) =>
          14 + CHARACTER_PX * Math.max(1, ...(texts ?? []).map((text) => text?.length ?? 0)),
      },
    ],
    series: [{}, ...columns.map(seriesOf)],
    ...(band && {
      bands: [{ series: [band[0] + 1, band[1] + 1], fill: () => toneColor('accent', 0.12) }],
    }),
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)] },
  }
}

function horizontalLabels({ kind, values, format }: SeriesAxis): UPlot.Axis {
  switch (kind) {
    case 'time':
      return {
        values: (_plot, splits, _axis, _space, step) =>
          splits.map((split) => timeLabel(split, step)),
        space: 72,
      }
    case 'log':
      // At the given positions: there are few.
      return {
        ...{ splits: () => [...values], filter: (_plot, splits) => splits },
        values: (_plot, splits) => splits.map((split) => format(split)),
      }
    default:
      return kind satisfies never
  }
}

/** The first and the last bar are as wide as the others. */
function roomForBars({ data: [positions] }: UPlot, low: number, high: number): UPlot.Range.MinMax {
  const half = (high - low) / Math.max(1, positions.length - 1) / 2
  return [low - half, high + half]
}

function seriesOf({ tone, shape = 'line' }: SeriesColumn): UPlot.Series {
  const stroke = () => toneColor(tone)
  const fill = () => toneColor(tone, 0.18)
  switch (shape) {
    case 'bars':
      return {
        ...{ stroke, fill: () => toneColor(tone, 0.75), width: 0, points: { show: false } },
        ...(UPlot.paths.bars && { paths: UPlot.paths.bars({ size: [0.8, 26] }) }),
      }
    case 'area':
      return { stroke, fill, width: 1.5, points: { show: false } }
    case 'dashed':
      return { stroke, width: 1, dash: [4, 4], points: { show: false } }
    case 'line':
      return { stroke, width: 1.75, points: { show: false } }
    default:
      return shape satisfies never
  }
}

function verticalRange(low: number, high: number, isFromZero: boolean): UPlot.Range.MinMax {
  if (low == null || high == null) return [0, 1]
  const [from, to] = isFromZero ? [Math.min(0, low), Math.max(0, high)] : [low, high]
  const room = 0.08 * (to - from) || 0.01 * Math.abs(to) || 1
  return [isFromZero && from === 0 ? 0 : from - room, isFromZero && to === 0 ? 0 : to + room]
}
