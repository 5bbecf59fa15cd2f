import { useMemo } from 'preact/hooks'
import { sectors } from '../../../domain/sectors.ts'
import { SignedBar } from '../../components/bar.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { count, NOTHING, plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'
import { CorrelationMatrix } from './correlation-matrix.tsx'
import { sectorMatrix } from './matrix-order.ts'

type Correlation = AnswerOf<'correlation'>

const NAME = '/correlation'

/** How the coins move together. */
export function CorrelationPanel() {
  const state = useDocument<Correlation>(NAME)
  return (
    <Panel title="Correlation" name={NAME} state={state} width="wide">
      {(answer) => (
        <>
          <Averages answer={answer} />
          <div class="beside">
            <Matrix matrix={answer.matrix} />
            <div>
              <SectorAverages averages={answer.sector_averages} />
              <Extremes answer={answer} />
            </div>
          </div>
        </>
      )}
    </Panel>
  )
}

type AnswerProps = { readonly answer: Correlation }

function Averages({ answer }: AnswerProps) {
  const { avg_correlation, regime, change, short_window, coins_analyzed, window } = answer
  return (
    <Figures>
      <Figure analysis="correlation" path="avg_correlation" label="Mean with BTC">
        {plain(avg_correlation)}
      </Figure>
      <Figure analysis="correlation" path="regime" label="Regime">
        {word(regime)}
      </Figure>
      <Figure
        analysis="correlation"
        path="change.delta_24h"
        label="Change, 24 h"
        tone={toneOf(change.delta_24h)}
      >
        {change.delta_24h === null ? NOTHING : signed(change.delta_24h, 3)}
      </Figure>
      <Figure analysis="correlation" path="change" label="7 days ago">
        {plain(change.avg_7d_ago)}
      </Figure>
      <Figure analysis="correlation" path="short_window" label="Last 24 h alone">
        {plain(short_window.avg_correlation)}
      </Figure>
      <Figure analysis="correlation" path="window.hours" label="Window">
        {count(window.hours)} h
      </Figure>
      <Figure analysis="correlation" path="coins_analyzed" label="Coins">
        {count(coins_analyzed)}
      </Figure>
    </Figures>
  )
}

function Matrix({ matrix }: Pick<Correlation, 'matrix'>) {
  const ordered = useMemo(() => sectorMatrix(matrix), [matrix])
  return (
    <div>
      <h3>
        <Term analysis="correlation" path="matrix">
          Pairs by sector
        </Term>
      </h3>
      <CorrelationMatrix matrix={ordered} />
    </div>
  )
}

function SectorAverages({ averages }: { readonly averages: Correlation['sector_averages'] }) {
  return (
    <>
      <h3>
        <Term analysis="correlation" path="sector_averages">
          Mean with BTC by sector
        </Term>
      </h3>
      <table class="bars">
        <tbody>
          {sectors.map((sector) => {
            const r = averages[sector]
            return (
              <tr key={sector}>
                <th scope="row">{sector}</th>
                <td>{r !== null && <SignedBar share={r} />}</td>
                <td>{plain(r)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </>
  )
}

function Extremes({ answer: { most_correlated, least_correlated, stats } }: AnswerProps) {
  const lists = [
    { title: 'Most correlated', coins: most_correlated },
    { title: 'Least correlated', coins: least_correlated },
  ]
  return lists.map(({ title, coins }) => (
    <table key={title} class="bars">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col">
            <Term analysis="correlation" path="correlations">
              r with BTC
            </Term>
          </th>
          <th scope="col">
            <Term analysis="correlation" path="stats">
              95 % interval
            </Term>
          </th>
        </tr>
      </thead>
      <tbody>
        {coins.map(({ coin, r }) => (
          <tr key={coin}>
            <th scope="row">
              <a href={hrefOf('coin', coin)}>{coin}</a>
            </th>
            <td>{plain(r)}</td>
            <td>
              {plain(stats[coin]?.ci_low)} to {plain(stats[coin]?.ci_high)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  ))
}
