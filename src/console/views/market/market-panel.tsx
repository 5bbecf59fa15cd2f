import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { count, percent, plain, signedPercent, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'
import { screenerName } from './screener-panel.tsx'

type Screener = AnswerOf<'screener'>

/** The market as a whole: breadth, regime, volatility, stress, and the coins at the ends. */
export function MarketPanel() {
  const state = useDocument<Screener>(screenerName())
  return (
    <Panel title="Breadth and regime" name={screenerName()} state={state}>
      {({ market, top, coins_scanned }) => (
        <>
          <Figures>
            <Figure analysis="screener" path="market.regime" label="Regime">
              {word(market.regime)}
            </Figure>
            <Figure
              analysis="screener"
              path="market.regime_score"
              label="Regime score"
              tone={toneOf(market.regime_score)}
            >
              {plain(market.regime_score)}
            </Figure>
            <Figure analysis="screener" path="market.breadth_pct" label="Breadth">
              {percent(market.breadth_pct, 0)}
            </Figure>
            <Figure
              analysis="screener"
              path="market.median_funding_annualized_pct"
              label="Median funding p.a."
              tone={toneOf(market.median_funding_annualized_pct)}
            >
              {signedPercent(market.median_funding_annualized_pct)}
            </Figure>
            <Figure analysis="screener" path="market.vol_regime" label="Volatility">
              {word(market.vol_regime)}
            </Figure>
            <Figure analysis="screener" path="market.stress_level" label="Stress across chains">
              {word(market.stress_level)}
            </Figure>
            <Figure analysis="screener" path="coins_scanned" label="Coins ranked">
              {count(coins_scanned)}
            </Figure>
          </Figures>
          <Biases market={market} />
          <Ends top={top} />
        </>
      )}
    </Panel>
  )
}

const biases = [
  { name: 'bullish', path: 'market.bullish_count', tone: 'up' },
  { name: 'neutral', path: 'market.neutral_count', tone: 'plain' },
  { name: 'bearish', path: 'market.bearish_count', tone: 'down' },
] as const

/** Numbers of coins by bias, as parts of one line. */
function Biases({ market }: Pick<Screener, 'market'>) {
  return (
    <>
      <div class="parts" aria-hidden="true">
        {biases.map(({ name, tone }) => (
          <span
            key={name}
            class={`fill tone-${tone}`}
            style={{ flexGrow: market[`${name}_count`] }}
          />
        ))}
      </div>
      <ul class="keys">
        {biases.map(({ name, path, tone }) => (
          <li key={name} class={`tone-${tone}`}>
            <b>{market[`${name}_count`]}</b>{' '}
            <Term analysis="screener" path={path}>
              {name}
            </Term>
          </li>
        ))}
      </ul>
    </>
  )
}

const ends = [
  { title: 'Most bullish', of: 'bullish' },
  { title: 'Most bearish', of: 'bearish' },
  { title: 'Crowded longs', of: 'crowded_long' },
  { title: 'Crowded shorts', of: 'crowded_short' },
  { title: 'Most volatile', of: 'volatile' },
] as const

function Ends({ top }: Pick<Screener, 'top'>) {
  const known = ends.filter(({ of }) => top[of].length > 0)
  return (
    <dl class="ends">
      {known.map(({ title, of }) => (
        <div key={of}>
          <dt>
            <Term analysis="screener" path="top">
              {title}
            </Term>
          </dt>
          <dd>
            {top[of].map((coin) => (
              <a key={coin} href={hrefOf('coin', coin)}>
                {coin}
              </a>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  )
}
