import type { ReadonlySignal } from '@preact/signals'
import type { CoinChart } from '../../charts/coin-chart.ts'
import type { DocumentState } from '../../live/documents.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'

type Followed<Answer> = {
  /** Path of the call. */
  readonly name: string
  readonly state: ReadonlySignal<DocumentState<Answer>>
}

/** The pulse on all timeframes. */
export function usePulse(coin: string): Followed<AnswerOf<'pulse'>> {
  const name = `/pulse/${encodeURIComponent(coin)}?timeframes=15m,1h,4h`
  return { name, state: useDocument<AnswerOf<'pulse'>>(name) }
}

export function useChart(coin: string): Followed<CoinChart> {
  const name = `/chart/${encodeURIComponent(coin)}`
  return { name, state: useDocument<CoinChart>(name) }
}

export function useLiquidations(coin: string): Followed<AnswerOf<'liquidations'>> {
  const name = `/liquidations/${encodeURIComponent(coin)}`
  return { name, state: useDocument<AnswerOf<'liquidations'>>(name) }
}
