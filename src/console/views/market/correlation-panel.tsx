import { useMemo } from 'preact/hooks'
import { sectors } from '../../../domain/sectors.ts'
import { SignedBar } from '../../components/bar.tsx'
import { FigureList, toneOf } from '../../components/figure.tsx'
import { count, NOTHING, plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'
import { CorrelationMatrix } from './correlation-matrix.tsx'
import { sectorMatrix } from './matrix-order.ts'

type Correlation = AnswerOf<'correlation'>

/** How the coins move together. */
export function CorrelationPanel() {
  return (
    <Panel<Correlation> title="Correlation" name="/correlation" width="wide">
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
  const { delta_24h } = change
  return (
    <FigureList
      analysis="correlation"
      rows={[
        { label: 'Mean with BTC', path: 'avg_correlation', value: plain(avg_correlation) },
        { label: 'Regime', path: 'regime', value: word(regime) },
        {
          ...{ label: 'Change, 24 h', path: 'change.delta_24h', tone: toneOf(delta_24h) },
          value: delta_24h === null ? NOTHING : signed(delta_24h, 3),
        },
        { label: '7 days ago', path: 'change', value: plain(change.avg_7d_ago) },
        {
          ...{ label: 'Last 24 h alone', path: 'short_window' },
          value: plain(short_window.avg_correlation),
        },
        { label: 'Window', path: 'window.hours', value: `${count(window.hours)} h` },
        { label: 'Coins', path: 'coins_analyzed', value: count(coins_analyzed) },
      ]}
    />
  )
}

function Matrix({ matrix }: Pick<Correlation, 'matrix'>) {
  const ordered = useMemo(() => sectorMatrix(matrix), [matrix])
  return (
    <div>
      <TermHeading title="Pairs by sector" analysis="correlation" path="matrix" />
      <CorrelationMatrix matrix={ordered} />
    </div>
  )
}

function SectorAverages({ averages }: { readonly averages: Correlation['sector_averages'] }) {
  return (
    <>
      <TermHeading title="Mean with BTC by sector" analysis="correlation" path="sector_averages" />
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
      <TableHead
        analysis="correlation"
        columns={[
          { title },
          { title: 'r with BTC', path: 'correlations' },
          { title: '95 % interval', path: 'stats' },
        ]}
      />
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
