import { FigureList, figure, toneOf } from '../../components/figure.tsx'
import { count, plain, sharePercent, signedPercent, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'
import { screenerName } from './screener-panel.tsx'

type Screener = AnswerOf<'screener'>

/** The market as a whole: breadth, regime, volatility, stress, and the coins at the ends. */
export function MarketPanel() {
  return (
    <Panel<Screener> title="Breadth and regime" name={screenerName()}>
      {({ market, top, coins_scanned }) => (
        <>
          <Overall market={market} coins_scanned={coins_scanned} />
          <Biases market={market} />
          <Ends top={top} />
        </>
      )}
    </Panel>
  )
}

function Overall({ market, coins_scanned }: Pick<Screener, 'market' | 'coins_scanned'>) {
  const { regime, regime_score: score, vol_regime } = market
  const { median_funding_annualized_pct: funding } = market
  return (
    <FigureList
      analysis="screener"
      rows={[
        figure('Regime', 'market.regime', word(regime)),
        figure('Regime score', 'market.regime_score', plain(score), toneOf(score)),
        figure('Breadth', 'market.breadth_pct', sharePercent(market.breadth_pct)),
        figure(
          'Median funding p.a.',
          'market.median_funding_annualized_pct',
          signedPercent(funding),
          toneOf(funding),
        ),
        figure('Volatility', 'market.vol_regime', word(vol_regime)),
        figure('Stress across chains', 'market.stress_level', word(market.stress_level)),
        figure('Coins ranked', 'coins_scanned', count(coins_scanned)),
      ]}
    />
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
