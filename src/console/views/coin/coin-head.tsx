import type { CoinChart } from '../../charts/coin-chart.ts'
import { changeOver24Hours } from '../../charts/coin-chart.ts'
import { toneOf } from '../../components/figure.tsx'
import { price, signedPercent } from '../../components/format.ts'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { chartName, documentName } from './coin-documents.ts'
import { CoinPicker } from './coin-picker.tsx'

/** The coin with its price, and the way to another one. */
export function CoinHead({ coin }: { readonly coin: string }) {
  const pulse = useDocument<AnswerOf<'pulse'>>(documentName('pulse', coin)).value
  const chart = useDocument<CoinChart>(chartName(coin)).value
  const current = pulse.kind === 'answer' ? pulse.answer.price.current : null
  const change =
    current === null || pulse.kind !== 'answer' || chart.kind !== 'answer'
      ? null
      : changeOver24Hours(chart.answer, current, Date.parse(pulse.answer.timestamp_iso))
  return (
    <header class="coin-head">
      <h1>
        {coin} <span class="visually-hidden">perpetual</span>
      </h1>
      {current !== null && (
        <p class="coin-price">
          <strong>{price(current)}</strong>
          {change !== null && (
            <span class={`tone-${toneOf(change)}`}>
              {signedPercent(change)}{' '}
              <Term analysis="chart" path="bars.close">
                24 h
              </Term>
            </span>
          )}
        </p>
      )}
      <CoinPicker coin={coin} />
    </header>
  )
}
