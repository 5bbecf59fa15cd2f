import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { clockTime, plain, price, usd } from '../components/format.ts'
import { Term } from '../components/term.tsx'
import { theme } from '../shell/theme.ts'
import { candleLines } from './candle-lines.ts'
import type { CandlePlot } from './candle-plot.ts'
import { registerChart } from './chart-registry.ts'
import { ChartTable } from './chart-table.tsx'
import type { DrawnBar } from './coin-chart.ts'
import type { LiquidationMark } from './liquidation-marks.ts'
import { plotCode } from './plot-code.ts'

type CandleChartProps = {
  readonly coin: string
  readonly bars: readonly DrawnBar[]
  readonly marks: readonly LiquidationMark[]
  /** Whether the axis has room for all marks. */
  readonly isScaledToMarks: boolean
}

/** Candles of one coin. The legend has the values of the bar under the pointer, or of the last one. */
export function CandleChart({ coin, bars, marks, isScaledToMarks }: CandleChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<CandlePlot | null>(null)
  const newest = useRef({ bars, marks, isScaledToMarks })
  const pointed = useSignal<number | null>(null)
  const colors = theme()
  newest.current = { bars, marks, isScaledToMarks }

  // Made again for another theme: the colors come from the style sheet.
  useEffect(() => {
    let isWanted = true
    let remove = () => {}
    const make = async () => {
      const loaded = await plotCode(
        () => import('./candle-plot.ts'),
        () => isWanted,
      )
      if (loaded === null || !isWanted || host.current === null) return
      const { bars: current } = newest.current
      const made = new loaded.CandlePlot(host.current, digitsOf(current), (at) => {
        pointed.value = at
      })
      plot.current = made
      made.showBars(current)
      made.showZones(newest.current.marks, newest.current.isScaledToMarks)
      remove = registerChart('candles', made)
    }
    void make()
    return () => {
      isWanted = false
      remove()
      plot.current?.destroy()
      plot.current = null
    }
  }, [coin, colors])

  useEffect(() => plot.current?.showBars(bars), [bars])
  useEffect(() => plot.current?.showZones(marks, isScaledToMarks), [marks, isScaledToMarks])

  const last = bars.length - 1
  const shown = bars[Math.min(pointed.value ?? last, last)]
  return (
    <figure class="chart candle-chart">
      {shown && <CandleLegend bar={shown} digits={digitsOf(bars)} />}
      <div
        ref={host}
        class="plot candle-plot"
        role="img"
        aria-label={`Chart: hourly candles of ${coin} with moving averages, Bollinger bands, volume, RSI and liquidation prices.`}
      />
      <ChartTable
        label={`hourly candles of ${coin}`}
        heads={[
          'Hour',
          'Open',
          'High',
          'Low',
          'Close',
          'Volume',
          ...candleLines.map(({ name }) => name),
        ]}
        rows={() =>
          bars.map((bar) => [
            clockTime(bar.timeMs),
            ...[bar.open, bar.high, bar.low, bar.close].map(price),
            plain(bar.volume),
            ...candleLines.map(({ indicator }) => price(bar.indicators[indicator])),
          ])
        }
      />
    </figure>
  )
}

type CandleLegendProps = { readonly bar: DrawnBar; readonly digits: number }

function CandleLegend({ bar, digits }: CandleLegendProps) {
  const prices = [
    ['O', bar.open],
    ['H', bar.high],
    ['L', bar.low],
    ['C', bar.close],
  ] as const
  return (
    <figcaption>
      <span class="readout">{clockTime(bar.timeMs)}</span>
      {prices.map(([name, value]) => (
        <span key={name} class="key">
          {name} <b>{price(value)}</b>
        </span>
      ))}
      <span class="key" title={`${plain(bar.volume)} contracts`}>
        Volume <b>{usd(bar.volume * bar.close)}</b>
      </span>
      {candleLines.map(({ indicator, name, tone, isDashed, analysis, path }) => {
        const value = bar.indicators[indicator]
        return (
          <span key={indicator} class="key" data-indicator={indicator} data-value={value ?? ''}>
            <span class={`swatch swatch-${isDashed ? 'dashed' : 'line'} tone-${tone}`} />
            <Term {...{ analysis, path }}>{name}</Term>{' '}
            <b>{plain(value, indicator === 'rsi_14' ? 1 : digits + 1)}</b>
          </span>
        )
      })}
    </figcaption>
  )
}

/** Decimal places of the prices. */
function digitsOf(bars: readonly DrawnBar[]): number {
  const last = bars.at(-1)?.close ?? 1
  return Math.min(8, Math.max(0, 5 - Math.ceil(Math.log10(last))))
}
