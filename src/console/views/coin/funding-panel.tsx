import { SeriesChart } from '../../charts/series-chart.tsx'
import { FigureList, toneOf } from '../../components/figure.tsx'
import {
  clockTime,
  duration,
  percent,
  sharePercent,
  signedBps,
  signedPercent,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Percentile } from '../../components/percentile.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { Term, TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'
import { fundingBars } from './funding-bars.ts'

const HOUR_MS = 3_600_000

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
              {
                ...{ label: 'Hourly rate', path: 'funding.current_rate' },
                tone: toneOf(funding.current_rate),
                value: signedBps(funding.current_rate * 1e4, 3),
              },
              {
                ...{ label: 'Annualised', path: 'funding.annualized_pct' },
                tone: toneOf(funding.annualized_pct),
                value: signedPercent(funding.annualized_pct),
              },
              {
                ...{ label: 'Percentile', path: 'funding.percentile' },
                value: (
                  <Percentile
                    value={funding.percentile}
                    among={duration(funding.percentile_window_hours * HOUR_MS)}
                  />
                ),
              },
              { label: 'Bias', path: 'funding.bias', value: word(funding.bias) },
              { label: 'Crowding', path: 'funding.crowding', value: word(funding.crowding) },
              {
                label: 'Premium',
                path: 'funding.premium_bps',
                value: signedBps(funding.premium_bps),
              },
            ]}
          />
          <TermHeading title="Hourly payments" analysis="funding" path="funding.history">
            , band of the last 30 days
          </TermHeading>
          <SeriesChart
            label={`hourly funding of ${coin} with the band of 30 days`}
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
    <ScrollRegion label="Funding by window">
      <table>
        <TableHead
          analysis="funding"
          columns={[
            { title: 'Window' },
            { title: 'Hours known', path: 'funding.windows.7d.records' },
            { title: 'Average, annualised', path: 'funding.windows.7d.average_annualized_pct' },
            { title: 'Paid by longs', path: 'funding.windows.7d.cumulative_pct' },
            { title: 'Hours positive', path: 'funding.windows.7d.positive_pct' },
            { title: 'Flips', path: 'funding.windows.7d.flips' },
          ]}
        />
        <tbody>
          {rows.map(([window, statistics]) => (
            <tr key={window}>
              <th scope="row">{window}</th>
              <td>{statistics.records}</td>
              <td>{signedPercent(statistics.average_annualized_pct)}</td>
              <td>{signedPercent(statistics.cumulative_pct, 3)}</td>
              <td>{sharePercent(statistics.positive_pct)}</td>
              <td>{statistics.flips}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
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
      <ScrollRegion label="Funding on other exchanges">
        <table>
          <TableHead
            analysis="funding"
            columns={[
              { title: 'Exchange' },
              { title: 'Hourly rate', path: 'venues[].hourly_rate' },
              { title: 'Annualised', path: 'venues[].annualized_pct' },
              { title: 'Next', path: 'venues[].next_funding_iso' },
            ]}
          />
          <tbody>
            {venues.map(({ venue, hourly_rate, annualized_pct, next_funding_iso }) => (
              <tr key={venue}>
                <th scope="row">{venue}</th>
                <td>{signedBps(hourly_rate * 1e4, 3)}</td>
                <td>{signedPercent(annualized_pct)}</td>
                <td>{clockTime(Date.parse(next_funding_iso))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
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
