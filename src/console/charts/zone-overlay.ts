import type {
  AutoscaleInfo,
  IPrimitivePaneRenderer,
  ISeriesApi,
  ISeriesPrimitive,
  SeriesAttachedParameter,
  Time,
} from 'lightweight-charts'
import { toneColor } from './chart-color.ts'
import type { LiquidationMark } from './liquidation-marks.ts'
import { largestCluster, notionalOf } from './liquidation-marks.ts'

/** Share of the width that the largest cluster covers. */
const REACH = 0.3
const BAR_PX = 7
const STUB_PX = 5
const HATCH_PX = 5

type Target = Parameters<IPrimitivePaneRenderer['draw']>[0]

/**
 * Liquidation clusters as bars from the right edge, and the tiers as ticks, at their prices. Positions of known
 * accounts are solid, estimates are hatched; the more notional, the stronger.
 */
export class ZoneOverlay implements ISeriesPrimitive<Time> {
  #marks: readonly LiquidationMark[] = []
  #isScaled = false
  #attached: SeriesAttachedParameter<Time> | null = null
  readonly #views = [{ renderer: () => ({ draw: (target: Target) => this.#draw(target) }) }]

  attached(to: SeriesAttachedParameter<Time>): void {
    this.#attached = to
  }

  detached(): void {
    this.#attached = null
  }

  paneViews() {
    return this.#views
  }

  /** @param isScaled whether the axis has room for all of them */
  show(marks: readonly LiquidationMark[], isScaled: boolean): void {
    this.#marks = marks
    this.#isScaled = isScaled
    this.#attached?.requestUpdate()
  }

  marks(): readonly LiquidationMark[] {
    return this.#marks
  }

  autoscaleInfo(): AutoscaleInfo | null {
    const prices = this.#marks.map(({ price }) => price)
    if (!this.#isScaled || prices.length === 0) return null
    return { priceRange: { minValue: Math.min(...prices), maxValue: Math.max(...prices) } }
  }

  #draw(target: Target): void {
    const series = this.#attached?.series
    if (series === undefined) return
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      const largest = largestCluster(this.#marks)
      const shown = this.#marks.flatMap((mark) => placed(mark, series, mediaSize.height))
      for (const { mark, y } of shown)
        if (mark.kind === 'cluster')
          drawCluster(context, mark, { y, width: mediaSize.width, largest })
        else drawZone(context, mark, { y, width: mediaSize.width })
    })
  }
}

function placed(
  mark: LiquidationMark,
  series: Pick<ISeriesApi<'Candlestick', Time>, 'priceToCoordinate'>,
  height: number,
) {
  const y = series.priceToCoordinate(mark.price)
  return y === null || y < 0 || y > height ? [] : [{ mark, y }]
}

function drawCluster(
  brush: CanvasRenderingContext2D,
  mark: LiquidationMark,
  { y, width, largest }: { readonly y: number; readonly width: number; readonly largest: number },
): void {
  const tone = mark.side === 'long' ? 'up' : 'down'
  const heat = largest === 0 ? 0 : notionalOf(mark) / largest
  const perUsd = largest === 0 ? 0 : (REACH * width) / largest
  const top = y - BAR_PX / 2
  const observed = perUsd * (mark.observedUsd ?? 0)
  const estimated = Math.max(STUB_PX - observed, perUsd * (mark.estimatedUsd ?? 0), 0)
  brush.fillStyle = toneColor(tone, 0.35 + 0.5 * heat)
  brush.fillRect(width - observed, top, observed, BAR_PX)
  hatch(brush, { x: width - observed - estimated, y: top, width: estimated }, toneColor(tone, 0.9))
}

function hatch(
  brush: CanvasRenderingContext2D,
  { x, y, width }: { readonly x: number; readonly y: number; readonly width: number },
  color: string,
): void {
  if (width <= 0) return
  brush.save()
  brush.beginPath()
  brush.rect(x, y, width, BAR_PX)
  brush.clip()
  brush.strokeStyle = color
  brush.lineWidth = 1
  brush.strokeRect(x + 0.5, y + 0.5, width - 1, BAR_PX - 1)
  brush.beginPath()
  for (let at = x - BAR_PX; at < x + width; at += HATCH_PX) {
    brush.moveTo(at, y + BAR_PX)
    brush.lineTo(at + BAR_PX, y)
  }
  brush.stroke()
  brush.restore()
}

/** A short line with the tier. */
function drawZone(
  brush: CanvasRenderingContext2D,
  { leverage, isHypothetical }: LiquidationMark,
  { y, width }: { readonly y: number; readonly width: number },
): void {
  brush.save()
  brush.strokeStyle = toneColor('text')
  brush.fillStyle = toneColor(isHypothetical ? 'muted' : 'text')
  brush.setLineDash(isHypothetical ? [2, 3] : [])
  brush.beginPath()
  brush.moveTo(width - 24, y)
  brush.lineTo(width, y)
  brush.stroke()
  brush.font = '11px system-ui, sans-serif'
  brush.textAlign = 'right'
  brush.textBaseline = 'middle'
  // Readable on the bars of clusters.
  brush.setLineDash([])
  brush.lineWidth = 3
  brush.strokeStyle = toneColor('surface')
  brush.strokeText(leverage ?? '', width - 28, y)
  brush.fillText(leverage ?? '', width - 28, y)
  brush.restore()
}
