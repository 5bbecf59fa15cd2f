import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { percent, price, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'

/** Price, derivatives and confluence of one coin. */
export function PulsePanel({ coin }: { readonly coin: string }) {
  const name = `/pulse/${encodeURIComponent(coin)}`
  const state = useDocument<AnswerOf<'pulse'>>(name)
  return (
    <Panel title="Pulse" name={name} state={state}>
      {({ price: { current }, derivatives, confluence }) => (
        <Figures>
          <Figure analysis="pulse" path="price.current" label="Price">
            {price(current)}
          </Figure>
          <Figure
            analysis="pulse"
            path="derivatives.funding_annualized_pct"
            label="Funding, a year"
            tone={toneOf(derivatives.funding_annualized_pct)}
          >
            {percent(derivatives.funding_annualized_pct)}
          </Figure>
          <Figure analysis="pulse" path="derivatives.open_interest" label="Open interest">
            {usd(derivatives.open_interest)}
          </Figure>
          <Figure analysis="pulse" path="confluence.bias" label="Confluence">
            {word(confluence.bias)}
          </Figure>
        </Figures>
      )}
    </Panel>
  )
}
