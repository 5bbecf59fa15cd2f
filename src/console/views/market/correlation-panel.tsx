import { useMemo } from 'preact/hooks'
import { sectors } from '../../../domain/sectors.ts'
import { SignedBar } from '../../components/bar.tsx'
import { FigureList, figure, toneOf } from '../../components/figure.tsx'
import { count, NOTHING, plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
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
        figure('Mean with BTC', 'avg_correlation', plain(avg_correlation)),
        figure('Regime', 'regime', word(regime)),
        figure(
          'Change, 24 h',
          'change.delta_24h',
          delta_24h === null ? NOTHING : signed(delta_24h, 3),
          toneOf(delta_24h),
        ),
        figure('7 days ago', 'change', plain(change.avg_7d_ago)),
        figure('Last 24 h alone', 'short_window', plain(short_window.avg_correlation)),
        figure('Window', 'window.hours', `${count(window.hours)} h`),
        figure('Coins', 'coins_analyzed', count(coins_analyzed)),
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
      <Table
        look="bars"
        rows={sectors.map((sector) => {
          const r = averages[sector]
          return {
            key: sector,
            cells: [sector, r !== null && <SignedBar key="bar" share={r} />, plain(r)],
          }
        })}
      />
    </>
  )
}

function Extremes({ answer: { most_correlated, least_correlated, stats } }: AnswerProps) {
  const lists = [
    { title: 'Most correlated', coins: most_correlated },
    { title: 'Least correlated', coins: least_correlated },
  ]
  return lists.map(({ title, coins }) => (
    <Table
      key={title}
      look="bars"
      analysis="correlation"
      columns={[
        { title },
        { title: 'r with BTC', path: 'correlations' },
        { title: '95 % interval', path: 'stats' },
      ]}
      rows={coins.map(({ coin, r }) => ({
        key: coin,
        cells: [
          <a key="coin" href={hrefOf('coin', coin)}>
            {coin}
          </a>,
          plain(r),
          `${plain(stats[coin]?.ci_low)} to ${plain(stats[coin]?.ci_high)}`,
        ],
      }))}
    />
  ))
}
