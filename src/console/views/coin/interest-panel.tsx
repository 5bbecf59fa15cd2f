import { SeriesChart } from '../../charts/series-chart.tsx'
import { FigureList, figure, tonedPercent } from '../../components/figure.tsx'
import { clockTime, count, percent, plain, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { percentile } from '../../components/percentile.tsx'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'
import { Quadrant } from './quadrant.tsx'

/** Open interest, and whether positions are opened or closed with the price. */
export function InterestPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'oi'>> title="Open interest" name={documentName('oi', coin)}>
      {({ oi }) => (
        <>
          <FigureList
            analysis="oi"
            rows={[
              figure('Notional', 'oi.notional_usd', usd(oi.notional_usd)),
              figure('Contracts', 'oi.current', count(oi.current)),
              figure(
                'Percentile',
                'oi.percentile',
                percentile(oi.percentile, oi.percentile_window_hours),
              ),
              figure('Trend', 'oi.trend', word(oi.trend)),
              figure('To 24 h volume', 'oi.oi_to_volume_24h', plain(oi.oi_to_volume_24h)),
              figure('Share of the venue', 'oi.share_pct', percent(oi.share_pct)),
              figure('Divergence', 'oi.price_oi_divergence', word(oi.price_oi_divergence)),
            ]}
          />
          <TermHeading title="Positioning" analysis="oi" path="oi.positioning">
            {' '}
            of the last 4 hours: {word(oi.positioning)}
          </TermHeading>
          <Quadrant
            positioning={oi.positioning}
            pricePct={oi.price_change_4h}
            interestPct={oi.delta_4h}
          />
          <Changes oi={oi} />
          <TermHeading title="Last 24 hours" analysis="oi" path="oi.history" />
          {oi.history.length < 2 ? (
            <p class="empty">Hourly readings appear from the second whole hour.</p>
          ) : (
            <SeriesChart
              label={`open contracts of ${coin} in the last 24 hours`}
              x={{
                ...{ name: 'Hour', kind: 'time', format: clockTime },
                values: oi.history.map(({ timestamp_iso }) => Date.parse(timestamp_iso)),
              }}
              columns={[
                {
                  ...{ name: 'contracts', tone: 'accent', shape: 'area' },
                  values: oi.history.map(({ current }) => current),
                },
              ]}
              format={count}
              height={150}
            />
          )}
        </>
      )}
    </Panel>
  )
}

function Changes({ oi }: Pick<AnswerOf<'oi'>, 'oi'>) {
  const windows = [
    ['5 min', oi.delta_5m_pct, oi.notional_delta_5m_pct, oi.price_change_5m_pct],
    ['1 h', oi.delta_1h, oi.notional_delta_1h_pct, oi.price_change_1h],
    ['4 h', oi.delta_4h, oi.notional_delta_4h_pct, oi.price_change_4h],
    ['24 h', oi.delta_24h, oi.notional_delta_24h_pct, oi.price_change_24h],
    ['7 d', oi.delta_7d_pct, oi.notional_delta_7d_pct, oi.price_change_7d_pct],
  ] as const
  return (
    <Table
      label="Changes of open interest and price by window"
      analysis="oi"
      columns={[
        { title: 'Over' },
        { title: 'Contracts', path: 'oi.delta_24h' },
        { title: 'Notional', path: 'oi.notional_delta_24h_pct' },
        { title: 'Price', path: 'oi.price_change_24h' },
      ]}
      rows={windows.map(([window, ...changes]) => ({
        key: window,
        cells: [window, ...changes.map(tonedPercent)],
      }))}
    />
  )
}
