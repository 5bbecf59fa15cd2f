import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { NOTHING, percent, price, signedPercent, usd } from '../components/format.ts'
import { registerChart } from './chart-registry.ts'
import { ChartTable } from './chart-table.tsx'
import { useElementWidth } from './element-width.ts'
import type { LiquidationMark } from './liquidation-marks.ts'
import { largestCluster, notionalOf, placeOf } from './liquidation-marks.ts'
import type { PriceSpreadScale } from './price-spread-scale.ts'
import { coordinateOf, labelLanes, priceSpreadScale, spreadTicks } from './price-spread-scale.ts'

const BARS_PX = 170
const TICKS_PX = 34
/** Between the base and the first label. */
const ZONE_PX = 7
const LANE_PX = 16
const LABEL_PX = 30
const STUB_PX = 3
const TICK_ROOM_PX = 62

type LiquidationMapProps = {
  readonly coin: string
  readonly mark: number
  readonly marks: readonly LiquidationMark[]
}

/**
 * Every cluster as a bar at its price and every tier as a label below the axis. Positions of known accounts are solid,
 * estimates are hatched. The arrow keys go from one to the next, which is read out.
 */
export function LiquidationMap({ coin, mark, marks }: LiquidationMapProps) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useElementWidth(frame)
  // Not its place, which changes with each answer.
  const chosen = useSignal<LiquidationMark | null>(null)
  const hatch = useId()
  const scale = priceSpreadScale(
    mark,
    marks.map(({ price: at }) => at),
    width,
  )
  const newest = useRef({ scale, marks })
  newest.current = { scale, marks }
  useEffect(
    () =>
      registerChart('liquidations', {
        priceToCoordinate: (at) => coordinateOf(newest.current.scale, at),
        marks: () => newest.current.marks,
        bars: () => [],
      }),
    [],
  )
  const place = placeOf(chosen.value, marks)
  const shown = marks[place]
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const firstAbove = marks.findIndex((one) => one.price > mark)
    const from = place < 0 ? firstAbove - (step > 0 ? 1 : 0) : place
    chosen.value = marks[Math.max(0, Math.min(marks.length - 1, from + step))] ?? null
  }
  return (
    <figure class="chart liquidation-map">
      <figcaption>
        <span class="readout" aria-live="polite">
          {shown === undefined ? 'Point at a bar, or use the arrow keys.' : wordsOf(shown)}
        </span>
        <span class="key">
          <span class="swatch swatch-bars tone-up" /> longs, observed
        </span>
        <span class="key">
          <span class="swatch swatch-hatch tone-up" /> longs, estimated
        </span>
        <span class="key">
          <span class="swatch swatch-bars tone-down" /> shorts, observed
        </span>
        <span class="key">
          <span class="swatch swatch-hatch tone-down" /> shorts, estimated
        </span>
      </figcaption>
      <div
        ref={frame}
        class="plot"
        role="img"
        tabIndex={0}
        aria-label={`Liquidation map of ${coin} over price. Arrow keys choose a cluster or a tier.`}
        onKeyDown={move}
      >
        {width > 0 && (
          <MapPicture
            {...{ scale, marks, hatch, place }}
            onChoose={(one) => {
              chosen.value = one
            }}
          />
        )}
      </div>
      <ChartTable
        label={`liquidation prices of ${coin}`}
        heads={['Price', 'Side', 'Distance', 'Kind', 'Observed', 'Estimated']}
        rows={() =>
          marks.map((one) => [
            price(one.price),
            one.side,
            percent(one.distancePct),
            kindOf(one),
            usd(one.observedUsd),
            usd(one.estimatedUsd),
          ])
        }
      />
    </figure>
  )
}

type PictureProps = {
  readonly scale: PriceSpreadScale
  readonly marks: readonly LiquidationMark[]
  /** Identifier of the patterns. */
  readonly hatch: string
  /** Of the chosen mark; -1 without one. */
  readonly place: number
  readonly onChoose: (mark: LiquidationMark | null) => void
}

function MapPicture({ scale, marks, hatch, place, onChoose }: PictureProps) {
  const { width } = scale
  const largest = largestCluster(marks)
  const barWidth = Math.max(3, Math.min(9, width / 140))
  const lanes = lanesOf(scale, marks)
  const ticksAt = BARS_PX + ZONE_PX + LANE_PX * (1 + Math.max(0, ...lanes.values()))
  const heightOf = (amount: number | null) =>
    largest === 0 ? 0 : ((BARS_PX - 12) * (amount ?? 0)) / largest
  return (
    <svg width={width} height={ticksAt + TICKS_PX} aria-hidden="true">
      <defs>
        {(['long', 'short'] as const).map((side) => (
          <pattern
            key={side}
            id={`${hatch}-${side}`}
            width="4"
            height="4"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect width="1.6" height="4" class={`side-${side}`} />
          </pattern>
        ))}
      </defs>
      {spreadTicks(scale, TICK_ROOM_PX).map(({ x, price: at, distancePct }) => (
        <g key={distancePct} class={distancePct === 0 ? 'tick tick-middle' : 'tick'}>
          <line x1={x} x2={x} y1={0} y2={ticksAt} />
          <text x={x} y={ticksAt + 13}>
            {price(Number(at.toPrecision(4)))}
          </text>
          <text x={x} y={ticksAt + 27}>
            {distancePct === 0 ? 'mark' : signedPercent(distancePct, 0)}
          </text>
        </g>
      ))}
      {marks.map((mark, at) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the keyboard has the arrow keys of the whole map
        <g
          key={`${mark.kind} ${mark.side} ${mark.leverage} ${mark.price}`}
          class={place === at ? `mark side-${mark.side} chosen` : `mark side-${mark.side}`}
          data-kind={mark.kind}
          data-price={mark.price}
          transform={`translate(${coordinateOf(scale, mark.price)} 0)`}
          onMouseEnter={() => onChoose(mark)}
          onMouseLeave={() => onChoose(null)}
        >
          {mark.kind === 'cluster' ? (
            <ClusterBar
              {...{ hatch: `url(#${hatch}-${mark.side})`, barWidth }}
              observed={heightOf(mark.observedUsd)}
              estimated={Math.max(
                STUB_PX - heightOf(mark.observedUsd),
                heightOf(mark.estimatedUsd),
              )}
            />
          ) : (
            <ZoneLabel mark={mark} y={BARS_PX + ZONE_PX + LANE_PX * (lanes.get(at) ?? 0)} />
          )}
        </g>
      ))}
      <line class="base" x1={0} x2={width} y1={BARS_PX} y2={BARS_PX} />
    </svg>
  )
}

type ClusterBarProps = {
  readonly barWidth: number
  /** Fill of the estimated part. */
  readonly hatch: string
  /** Heights in pixels. */
  readonly observed: number
  readonly estimated: number
}

function ClusterBar({ barWidth, hatch, observed, estimated }: ClusterBarProps) {
  const x = -barWidth / 2
  const top = BARS_PX - observed - Math.max(0, estimated)
  return (
    <>
      {/* The whole column answers to the pointer. */}
      <rect class="target" x={x - 2} y={0} width={barWidth + 4} height={BARS_PX} />
      <rect class="observed" {...{ x, y: BARS_PX - observed, width: barWidth, height: observed }} />
      {estimated > 0 && (
        <rect
          class="estimated"
          {...{ x, y: top, width: barWidth, height: estimated }}
          fill={hatch}
        />
      )}
    </>
  )
}

function ZoneLabel({ mark, y }: { readonly mark: LiquidationMark; readonly y: number }) {
  return (
    <>
      <line
        class={mark.isHypothetical ? 'zone hypothetical' : 'zone'}
        y1={BARS_PX - 4}
        y2={y + 2}
      />
      <rect class="target" x={-LABEL_PX / 2} y={y} width={LABEL_PX} height={LANE_PX} />
      <text class={mark.isHypothetical ? 'hypothetical' : undefined} y={y + 12}>
        {mark.leverage}
      </text>
    </>
  )
}

/** Lanes of the labels of zones, by the place of the mark. */
function lanesOf(
  scale: PriceSpreadScale,
  marks: readonly LiquidationMark[],
): ReadonlyMap<number, number> {
  const zones = marks.flatMap(({ kind, price: at }, place) =>
    kind === 'zone' ? [{ place, x: coordinateOf(scale, at) }] : [],
  )
  const spans = zones.map(({ x }) => ({ from: x - LABEL_PX / 2, to: x + LABEL_PX / 2 }))
  const lanes = labelLanes(spans)
  return new Map(zones.map(({ place }, at) => [place, lanes[at] ?? 0]))
}

function kindOf({ kind, leverage, isHypothetical }: LiquidationMark): string {
  if (kind === 'cluster') return 'cluster'
  return isHypothetical ? `${leverage} tier, empty` : `${leverage} tier`
}

/** A mark in one sentence. */
function wordsOf(mark: LiquidationMark): string {
  const { side, distancePct, observedUsd, estimatedUsd } = mark
  const where = `${percent(distancePct)} ${side === 'long' ? 'below' : 'above'} the price`
  const what = mark.kind === 'cluster' ? `Cluster of ${side}s` : `${mark.leverage} ${side}s`
  const amounts =
    notionalOf(mark) === 0
      ? 'no notional on the map'
      : `${usd(observedUsd)} observed, ${usd(estimatedUsd)} estimated`
  return `${what} at ${price(mark.price)}, ${where}: ${observedUsd === null ? NOTHING : amounts}`
}
