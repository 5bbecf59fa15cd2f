import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { NOTHING } from '../components/format.ts'
import { theme } from '../shell/theme.ts'
import { ChartTable } from './chart-table.tsx'
import { useElementWidth } from './element-width.ts'
import { plotCode } from './plot-code.ts'
import type { SeriesPicture, SeriesPlot } from './series-plot.ts'

type SeriesChartProps = SeriesPicture & {
  /** What the chart shows, such as `open interest of the last 24 hours`. */
  readonly label: string
  /** In pixels. */
  readonly height: number
}

/**
 * Lines, areas or bars over time or a size. The legend shows the values at the cursor, which the pointer and the arrow
 * keys move, or the last ones.
 */
export function SeriesChart({ label, height, ...picture }: SeriesChartProps) {
  const { x, columns, format } = picture
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<SeriesPlot | null>(null)
  const newest = useRef({ picture, width: 0 })
  const width = useElementWidth(host)
  const pointed = useSignal<number | null>(null)
  const read = useSignal('')
  const colors = theme()
  const structure = [x.kind, ...columns.map(({ name, tone, shape }) => `${name} ${tone} ${shape}`)]
  const isSized = width > 0
  newest.current = { picture, width }

  // Made again for another structure or theme only.
  useEffect(() => {
    let isWanted = isSized
    const make = async () => {
      const loaded = await plotCode(
        () => import('./series-plot.ts'),
        () => isWanted,
      )
      const { picture: current, width: currentWidth } = newest.current
      if (loaded === null || !isWanted || host.current === null) return
      plot.current = new loaded.SeriesPlot(
        host.current,
        current,
        { width: currentWidth, height },
        (at) => {
          pointed.value = at
        },
      )
    }
    if (isWanted) void make()
    return () => {
      isWanted = false
      plot.current?.destroy()
      plot.current = null
    }
  }, [isSized, structure.join(), colors])

  useEffect(() => {
    plot.current?.update(picture)
  }, [x.values, columns])

  useEffect(() => {
    plot.current?.resize(width, height)
  }, [width, height])

  const last = x.values.length - 1
  const shown = Math.min(pointed.value ?? last, last)
  const textOf = (values: readonly (number | null)[], at: number) => {
    const value = values[at] ?? null
    return value === null ? NOTHING : format(value)
  }
  const move = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = Math.max(0, Math.min(last, shown + step))
    plot.current?.point(at)
    const reached = x.values[at]
    if (reached === undefined) return
    const texts = columns.map(({ name, values }) => `${name} ${textOf(values, at)}`)
    read.value = [x.format(reached), ...texts].join(', ')
  }
  const position = x.values[shown]
  return (
    <figure class="chart">
      <figcaption>
        <span class="readout">{position === undefined ? 'No data' : x.format(position)}</span>
        {columns.map(({ name, tone, shape = 'line', values }) => (
          <span key={name} class="key">
            <span class={`swatch swatch-${shape} tone-${tone}`} />
            {name} <b>{textOf(values, shown)}</b>
          </span>
        ))}
      </figcaption>
      <div
        ref={host}
        class="plot"
        role="img"
        tabIndex={0}
        aria-label={`Chart: ${label}. Arrow keys move the cursor.`}
        style={{ height: `${height}px` }}
        onKeyDown={move}
      />
      {/* Not the legend, which every version of the document and every move of the pointer changes. */}
      <span class="visually-hidden" aria-live="polite">
        {read.value}
      </span>
      <ChartTable
        label={label}
        heads={[x.name, ...columns.map(({ name }) => name)]}
        rows={() =>
          x.values.map((value, at) => [
            x.format(value),
            ...columns.map(({ values }) => textOf(values, at)),
          ])
        }
      />
    </figure>
  )
}
