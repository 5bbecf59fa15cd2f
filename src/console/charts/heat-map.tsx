import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { NOTHING } from '../components/format.ts'
import { theme } from '../shell/theme.ts'
import { ChartTable } from './chart-table.tsx'
import { useElementWidth } from './element-width.ts'
import type { HeatMapLayout } from './heat-map-canvas.ts'
import { cellAt, drawHeatMap, layoutOf } from './heat-map-canvas.ts'
import type { Cell } from './heat-scale.ts'
import { cellAfterKey, cellWithin } from './heat-scale.ts'

type HeatMapProps = {
  /** What the map shows, such as `funding of the last 72 hours`. */
  readonly label: string
  readonly rows: readonly string[]
  readonly columns: readonly string[]
  /** By row, then column; null where nothing is known. */
  readonly values: readonly (readonly (number | null)[])[]
  /** Value of the strongest color. */
  readonly limit: number
  readonly format: (value: number) => string
  /** Of one row, in pixels. */
  readonly rowHeight: number
  /** By click and Enter. */
  readonly onSelect?: (cell: Cell) => void
}

/** A matrix of colors on a canvas. The pointer and the arrow keys choose a cell, whose value is read out. */
export function HeatMap({
  label,
  rows,
  columns,
  values,
  limit,
  format,
  rowHeight,
  onSelect,
}: HeatMapProps) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useElementWidth(frame)
  const chosen = useSignal<Cell | null>(null)
  const layout: HeatMapLayout = layoutOf({ width, rowHeight, rows, columns })
  const shown = cellWithin(chosen.value, layout)
  const colors = theme()

  // The colors of the style sheet change with the theme.
  useLayoutEffect(() => {
    if (canvas.current !== null && width > 0)
      drawHeatMap(canvas.current, { layout, rows, columns, values, limit, chosen: shown })
  }, [width, rowHeight, rows, columns, values, limit, shown, colors])

  const textOf = ({ row, column }: Cell) => {
    const value = values[row]?.[column] ?? null
    return `${rows[row]}, ${columns[column]}: ${value === null ? 'no data' : format(value)}`
  }
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && shown !== null) onSelect?.(shown)
    const next = cellAfterKey(event.key, shown ?? { row: 0, column: -1 }, layout)
    if (next === null) return
    event.preventDefault()
    chosen.value = next
  }
  return (
    <figure class="chart heat-map">
      <figcaption>
        <span class="readout" aria-live="polite">
          {shown === null ? 'Point at a cell, or use the arrow keys.' : textOf(shown)}
        </span>
        <span class="heat-legend">
          {[-limit, 0, limit].map((end) => (
            <span key={end}>{format(end)}</span>
          ))}
        </span>
      </figcaption>
      <div ref={frame}>
        <canvas
          ref={canvas}
          role="img"
          tabIndex={0}
          aria-label={`Heat map: ${label}. Arrow keys choose a cell.`}
          onPointerMove={(event) => {
            chosen.value = cellAt(layout, event.offsetX, event.offsetY)
          }}
          onPointerLeave={() => {
            chosen.value = null
          }}
          onClick={() => shown !== null && onSelect?.(shown)}
          onKeyDown={move}
        />
      </div>
      <ChartTable
        label={label}
        heads={['', ...columns]}
        rows={() =>
          rows.map((row, at) => [
            row,
            ...(values[at] ?? []).map((value) => (value === null ? NOTHING : format(value))),
          ])
        }
      />
    </figure>
  )
}
