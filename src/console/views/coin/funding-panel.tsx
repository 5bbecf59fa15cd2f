import { SeriesChart } from '../../charts/series-chart.tsx'
import { FigureList, figure, toneOf } from '../../components/figure.tsx'
import {
  clockTime,
  percent,
  sharePercent,
  signedBps,
  signedPercent,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { percentile } from '../../components/percentile.tsx'
import { Table } from '../../components/table.tsx'
import { Term, TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'
import { fundingBars } from './funding-bars.ts'

type Funding = AnswerOf<'funding'>['funding']

/** What holding the coin costs: now, over the last days, and on other exchanges. */
export function FundingPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'funding'>> title="Funding" name={documentName('funding', coin)}>
      {({ funding, venues, venue_spread }) => (
        <>
          <FigureList
            analysis="funding"
            rows={[
              figure(
                'Hourly rate',
                'funding.current_rate',
                signedBps(funding.current_rate * 1e4, 3),
                toneOf(funding.current_rate),
              ),
              figure(
                'Annualised',
                'funding.annualized_pct',
                signedPercent(funding.annualized_pct),
                toneOf(funding.annualized_pct),
              ),
              figure(
                'Percentile',
                'funding.percentile',
                percentile(funding.percentile, funding.percentile_window_hours),
              ),
              figure('Bias', 'funding.bias', word(funding.bias)),
              figure('Crowding', 'funding.crowding', word(funding.crowding)),
              figure('Premium', 'funding.premium_bps', signedBps(funding.premium_bps)),
            ]}
          />
          <TermHeading title="Hourly payments" analysis="funding" path="funding.history">
            , 10th to 90th percentile of the last 30 days
          </TermHeading>
          <SeriesChart
            label={`hourly funding of ${coin} with the band between the 10th and the 90th percentile of 30 days`}
            {...fundingBars(funding)}
            height={170}
          />
          <Windows funding={funding} />
          {venues.length > 0 && <Venues venues={venues} spread={venue_spread} />}
        </>
      )}
    </Panel>
  )
}

function Windows({ funding }: { readonly funding: Funding }) {
  const rows = [
    [`${funding.lookback_hours} h`, funding],
    ['7 d', funding.windows['7d']],
    ['30 d', funding.windows['30d']],
  ] as const
  return (
    <Table
      label="Funding by window"
      analysis="funding"
      columns={[
        { title: 'Window' },
        { title: 'Hours', path: 'funding.windows.7d.records' },
        { title: 'Annualised', path: 'funding.windows.7d.average_annualized_pct' },
        { title: 'Paid by longs', path: 'funding.windows.7d.cumulative_pct' },
        { title: 'Positive', path: 'funding.windows.7d.positive_pct' },
        { title: 'Flips', path: 'funding.windows.7d.flips' },
      ]}
      rows={rows.map(([window, statistics]) => ({
        key: window,
        cells: [
          window,
          statistics.records,
          signedPercent(statistics.average_annualized_pct),
          signedPercent(statistics.cumulative_pct, 3),
          sharePercent(statistics.positive_pct),
          statistics.flips,
        ],
      }))}
    />
  )
}

type VenuesProps = {
  readonly venues: AnswerOf<'funding'>['venues']
  readonly spread: AnswerOf<'funding'>['venue_spread']
}

function Venues({ venues, spread }: VenuesProps) {
  return (
    <>
      <TermHeading title="Other exchanges" analysis="funding" path="venues" />
      <Table
        label="Funding on other exchanges"
        analysis="funding"
        columns={[
          { title: 'Exchange' },
          { title: 'Hourly rate', path: 'venues[].hourly_rate' },
          { title: 'Annualised', path: 'venues[].annualized_pct' },
          { title: 'Next', path: 'venues[].next_funding_iso' },
        ]}
        rows={venues.map(({ venue, hourly_rate, annualized_pct, next_funding_iso }) => ({
          key: venue,
          cells: [
            venue,
            signedBps(hourly_rate * 1e4, 3),
            signedPercent(annualized_pct),
            clockTime(Date.parse(next_funding_iso)),
          ],
        }))}
      />
      {spread && (
        <p class="note">
          <Term analysis="funding" path="venue_spread.gross_annualized_pct">
            Widest difference
          </Term>
          : long on {spread.long_on}, short on {spread.short_on},{' '}
          {percent(spread.gross_annualized_pct)} a year before costs.
        </p>
      )}
    </>
  )
}
