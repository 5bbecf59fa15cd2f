import { color } from '../shell/theme.ts'
import { mixColors } from './chart-color.ts'
import type { Cell } from './heat-scale.ts'
import { heatOf } from './heat-scale.ts'

/** In CSS pixels. */
export type HeatMapLayout = {
  readonly width: number
  readonly height: number
  /** Of the first cell. */
  readonly left: number
  readonly cellWidth: number
  readonly rowHeight: number
  readonly rows: number
  readonly columns: number
}

const FONT = '12px system-ui, sans-serif'
const CHARACTER_PX = 7.2
/** For the labels of the columns. */
const FOOT_PX = 20
const NAME_GAP_PX = 10

export function layoutOf(of: {
  readonly width: number
  readonly rowHeight: number
  readonly rows: readonly string[]
  readonly columns: readonly string[]
}): HeatMapLayout {
  const longest = Math.max(0, ...of.rows.map(({ length }) => length))
  const left = Math.min(0.34 * of.width, Math.ceil(longest * CHARACTER_PX) + 8)
  const cellWidth = (of.width - left) / Math.max(1, of.columns.length)
  const height = of.rows.length * of.rowHeight + FOOT_PX
  const { width, rowHeight } = of
  const [rows, columns] = [of.rows.length, of.columns.length]
  return { width, height, left, cellWidth, rowHeight, rows, columns }
}

/** @returns null beside the cells */
export function cellAt(layout: HeatMapLayout, x: number, y: number): Cell | null {
  const column = Math.floor((x - layout.left) / layout.cellWidth)
  const row = Math.floor(y / layout.rowHeight)
  const isInside = column >= 0 && column < layout.columns && row >= 0 && row < layout.rows
  return isInside ? { row, column } : null
}

export type HeatMapPicture = {
  readonly layout: HeatMapLayout
  readonly rows: readonly string[]
  readonly columns: readonly string[]
  readonly values: readonly (readonly (number | null)[])[]
  /** Value of the strongest color. */
  readonly limit: number
  readonly chosen: Cell | null
}

export function drawHeatMap(canvas: HTMLCanvasElement, picture: HeatMapPicture): void {
  const { layout, rows, columns, values, limit, chosen } = picture
  const { width, height, left, cellWidth, rowHeight } = layout
  const brush = sizedBrush(canvas, width, height)
  if (brush === null) return
  brush.font = FONT
  brush.textBaseline = 'middle'
  brush.fillStyle = color('muted')
  const gap = cellWidth > 5 ? 1 : 0
  for (const [row, name] of rows.entries())
    brush.fillText(name, 0, (row + 0.5) * rowHeight, left - 6)
  const [none, cool, warm] = [color('raised'), color('down'), color('up')]
  for (const [row, cells] of values.entries())
    for (const [column, value] of cells.entries()) {
      if (value === null) continue
      const heat = heatOf(limit, value)
      brush.fillStyle = mixColors(none, heat < 0 ? cool : warm, Math.abs(heat))
      brush.fillRect(
        left + column * cellWidth,
        row * rowHeight,
        Math.max(1, cellWidth - gap),
        rowHeight - 1,
      )
    }
  drawColumnNames(brush, layout, columns)
  if (chosen === null) return
  brush.strokeStyle = color('focus')
  brush.lineWidth = 2
  brush.strokeRect(
    left + chosen.column * cellWidth,
    chosen.row * rowHeight,
    Math.max(3, cellWidth),
    rowHeight - 1,
  )
}

/** As many names as have room, at equal distances. */
function drawColumnNames(
  brush: CanvasRenderingContext2D,
  { height, left, cellWidth }: HeatMapLayout,
  columns: readonly string[],
): void {
  brush.fillStyle = color('muted')
  brush.textAlign = 'center'
  const room = CHARACTER_PX * Math.max(1, ...columns.map(({ length }) => length))
  const every = Math.max(1, Math.ceil((room + NAME_GAP_PX) / cellWidth))
  /** Columns at both ends whose names would stand out of the map. */
  const ends = Math.ceil(Math.max(0, room / cellWidth - 1) / 2)
  for (let column = columns.length - 1 - ends; column >= ends; column -= every)
    brush.fillText(
      columns[column] ?? '',
      left + (column + 0.5) * cellWidth,
      height - FOOT_PX / 2 + 1,
    )
}

/** An empty canvas of this size, whose unit is the CSS pixel. */
function sizedBrush(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const brush = canvas.getContext('2d')
  brush?.scale(ratio, ratio)
  return brush
}
