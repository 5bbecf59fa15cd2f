import type { ChartTone } from './chart-color.ts'
import type { ChartIndicator } from './coin-chart.ts'

export type CandleLine = {
  readonly indicator: ChartIndicator
  readonly name: string
  readonly analysis: 'chart'
  /** Of its definition. */
  readonly path: string
  readonly tone: ChartTone
  readonly isDashed: boolean
}

/** In the order of the legend. */
export const candleLines: readonly CandleLine[] = [
  {
    ...{ indicator: 'ema_20', name: 'EMA 20', tone: 'accent', isDashed: false },
    ...{ analysis: 'chart', path: 'indicators.ema_20' },
  },
  {
    ...{ indicator: 'ema_50', name: 'EMA 50', tone: 'warn', isDashed: false },
    ...{ analysis: 'chart', path: 'indicators.ema_50' },
  },
  {
    ...{ indicator: 'ema_200', name: 'EMA 200', tone: 'text', isDashed: false },
    ...{ analysis: 'chart', path: 'indicators.ema_200' },
  },
  {
    ...{ indicator: 'bollinger_upper', name: 'Bollinger upper', tone: 'muted', isDashed: true },
    ...{ analysis: 'chart', path: 'indicators.bollinger_upper' },
  },
  {
    ...{ indicator: 'bollinger_middle', name: 'middle', tone: 'muted', isDashed: true },
    ...{ analysis: 'chart', path: 'indicators.bollinger_middle' },
  },
  {
    ...{ indicator: 'bollinger_lower', name: 'lower', tone: 'muted', isDashed: true },
    ...{ analysis: 'chart', path: 'indicators.bollinger_lower' },
  },
  {
    ...{ indicator: 'rsi_14', name: 'RSI 14', tone: 'accent', isDashed: false },
    ...{ analysis: 'chart', path: 'indicators.rsi_14' },
  },
]
