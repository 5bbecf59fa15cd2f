import type { DrawnBar } from './coin-chart.ts'
import type { LiquidationMark } from './liquidation-marks.ts'

/** What is drawn, for those who examine the page by its figures and not by its pixels. */
export type PriceChart = {
  /** Along the axis of prices, CSS pixels; null before anything is drawn. */
  priceToCoordinate(price: number): number | null
  marks(): readonly LiquidationMark[]
  /** Empty for a chart without bars. */
  bars(): readonly DrawnBar[]
}

declare global {
  interface Window {
    perpscopeCharts?: Map<string, PriceChart>
  }
}

/** @returns a function that removes it */
export function registerChart(name: string, chart: PriceChart): () => void {
  window.perpscopeCharts ??= new Map()
  const charts = window.perpscopeCharts
  charts.set(name, chart)
  return () => {
    if (charts.get(name) === chart) charts.delete(name)
  }
}
