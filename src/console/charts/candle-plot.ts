import type {
  IChartApi,
  ISeriesApi,
  MouseEventParams,
  Time,
  UTCTimestamp,
} from 'lightweight-charts'
import {
  CandlestickSeries,
  ColorType,
  createChart,
  HistogramSeries,
  LineSeries,
  LineStyle,
} from 'lightweight-charts'
import { clockTime, plain, timeLabel } from '../components/format.ts'
import { candleLines } from './candle-lines.ts'
import { toneColor } from './chart-color.ts'
import type { ChartIndicator, DrawnBar } from './coin-chart.ts'
import { haveSameClosed } from './coin-chart.ts'
import type { LiquidationMark } from './liquidation-marks.ts'
import { ZoneOverlay } from './zone-overlay.ts'

const RSI_PANE = 1
const RSI_LEVELS = [30, 70]
const RSI_RANGE = { minValue: 15, maxValue: 85 }
const BAR_MS = 3_600_000
const BARS_SHOWN_MAX = 120
/** Narrower candles have no body. */
const BAR_PX_MIN = 7

/** Candles with bands, averages and volume, and RSI below, on one host element; `destroy` frees it. */
export class CandlePlot {
  readonly #chart: IChartApi
  readonly #candles: ISeriesApi<'Candlestick'>
  readonly #volume: ISeriesApi<'Histogram'>
  readonly #lines: readonly (readonly [ChartIndicator, ISeriesApi<'Line'>])[]
  readonly #zones = new ZoneOverlay()
  #bars: readonly DrawnBar[] = []

  /** @param onHover the place of the bar under the pointer; null beside them */
  constructor(host: HTMLElement, digits: number, onHover: (at: number | null) => void) {
    this.#chart = createChart(host, { autoSize: true, ...chartOptions() })
    const formatter = (price: number) => plain(price, digits)
    const precise = { type: 'custom', minMove: 10 ** -digits, formatter } as const
    this.#volume = this.#chart.addSeries(HistogramSeries, {
      ...{ priceScaleId: 'volume', priceFormat: { type: 'volume' } },
      ...{ lastValueVisible: false, priceLineVisible: false },
    })
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } })
    this.#lines = candleLines.map(({ indicator, tone, isDashed }) => {
      const isRsi = indicator === 'rsi_14'
      const options = {
        ...({ color: toneColor(tone), lineWidth: isDashed ? 1 : 2 } as const),
        lineStyle: isDashed ? LineStyle.Dashed : LineStyle.Solid,
        ...{ lastValueVisible: isRsi, priceLineVisible: false, crosshairMarkerVisible: false },
        priceFormat: isRsi ? ({ type: 'price', precision: 1, minMove: 0.1 } as const) : precise,
      }
      const line = this.#chart.addSeries(LineSeries, options, isRsi ? RSI_PANE : 0)
      if (isRsi) line.applyOptions({ autoscaleInfoProvider: () => ({ priceRange: RSI_RANGE }) })
      if (isRsi) for (const level of RSI_LEVELS) line.createPriceLine(levelOptions(level))
      return [indicator, line] as const
    })
    this.#candles = this.#chart.addSeries(CandlestickSeries, {
      ...{ upColor: toneColor('up'), downColor: toneColor('down'), borderVisible: false },
      ...{ wickUpColor: toneColor('up'), wickDownColor: toneColor('down') },
      priceFormat: precise,
    })
    this.#candles.attachPrimitive(this.#zones)
    const [upper, lower] = this.#chart.panes()
    upper?.setStretchFactor(4)
    lower?.setStretchFactor(1)
    this.#chart.subscribeCrosshairMove((move) => onHover(this.#placeOf(move)))
  }

  /** Only the last bar is drawn again where the others are the same. */
  showBars(bars: readonly DrawnBar[]): void {
    const before = this.#bars
    this.#bars = bars
    const last = bars.at(-1)
    if (last !== undefined && haveSameClosed(before, bars)) this.#update(last)
    else this.#setAll(bars, before.length === 0)
  }

  /** @param isScaled whether the axis has room for all of them */
  showZones(marks: readonly LiquidationMark[], isScaled: boolean): void {
    this.#zones.show(marks, isScaled)
  }

  bars(): readonly DrawnBar[] {
    return this.#bars
  }

  marks(): readonly LiquidationMark[] {
    return this.#zones.marks()
  }

  priceToCoordinate(price: number): number | null {
    return this.#candles.priceToCoordinate(price)
  }

  destroy(): void {
    this.#chart.remove()
  }

  #showNewest(): void {
    const scale = this.#chart.timeScale()
    const shown = Math.min(BARS_SHOWN_MAX, Math.floor(scale.width() / BAR_PX_MIN))
    const to = this.#bars.length + 2
    scale.setVisibleLogicalRange({ from: Math.max(0, to - shown), to })
  }

  #placeOf({ time }: MouseEventParams<Time>): number | null {
    if (time === undefined) return null
    const place = this.#bars.findIndex((bar) => timeOf(bar) === time)
    return place === -1 ? null : place
  }

  #update(bar: DrawnBar): void {
    this.#candles.update(candleOf(bar))
    this.#volume.update(volumeOf(bar))
    for (const [name, line] of this.#lines) line.update(pointOf(bar, name))
  }

  #setAll(bars: readonly DrawnBar[], isFirst: boolean): void {
    this.#candles.setData(bars.map(candleOf))
    this.#volume.setData(bars.map(volumeOf))
    for (const [name, line] of this.#lines) line.setData(bars.map((bar) => pointOf(bar, name)))
    if (isFirst) this.#showNewest()
  }
}

/** The library counts seconds. */
function timeOf({ timeMs }: DrawnBar): UTCTimestamp {
  return (timeMs / 1_000) as UTCTimestamp
}

function candleOf(bar: DrawnBar) {
  const { open, high, low, close } = bar
  return { time: timeOf(bar), open, high, low, close }
}

/** Without a value it is a gap in the line. */
function pointOf(bar: DrawnBar, name: ChartIndicator) {
  const value = bar.indicators[name]
  return value === null ? { time: timeOf(bar) } : { time: timeOf(bar), value }
}

function volumeOf(bar: DrawnBar) {
  const tone = bar.close >= bar.open ? 'up' : 'down'
  return { time: timeOf(bar), value: bar.volume, color: toneColor(tone, 0.3) }
}

function levelOptions(price: number) {
  return {
    ...({ price, color: toneColor('muted'), lineWidth: 1, lineStyle: LineStyle.Dotted } as const),
    axisLabelVisible: false,
    title: '',
  }
}

function chartOptions() {
  const line = toneColor('line')
  const crosshair = { color: toneColor('muted'), labelBackgroundColor: toneColor('raised') }
  return {
    layout: {
      background: { type: ColorType.Solid, color: toneColor('surface') } as const,
      textColor: toneColor('muted'),
      fontFamily: 'system-ui, sans-serif',
      // Its logo needs inline styles, which the page forbids; the footer has the link.
      attributionLogo: false,
      panes: { separatorColor: line, separatorHoverColor: line, enableResize: false },
    },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
    crosshair: { vertLine: crosshair, horzLine: crosshair },
    rightPriceScale: { borderColor: line, entireTextOnly: true },
    timeScale: {
      ...{ borderColor: line, timeVisible: true, secondsVisible: false },
      tickMarkFormatter: (time: Time) => timeLabel(Number(time) * 1_000, BAR_MS),
    },
    localization: {
      timeFormatter: (time: Time) => clockTime(Number(time) * 1_000),
    },
    // A page that scrolls by touch and wheel stays scrollable.
    handleScroll: { mouseWheel: false, vertTouchDrag: false },
    handleScale: { mouseWheel: false, axisPressedMouseMove: true, pinch: true },
  }
}
