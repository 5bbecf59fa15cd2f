import { SeriesChart } from '../../charts/series-chart.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { clockTime, percent, signedBps, signedPercent, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Percentile } from '../../components/percentile.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { fundingBars } from './funding-bars.ts'

type Funding = AnswerOf<'funding'>['funding']

/** What holding the coin costs: now, over the last days, and on other exchanges. */
export function FundingPanel({ coin }: { readonly coin: string }) {
  const name = `/funding/${encodeURIComponent(coin)}`
  const state = useDocument<AnswerOf<'funding'>>(name)
  return (
    <Panel title="Funding" name={name} state={state}>
      {({ funding, venues, venue_spread }) => (
        <>
          <Figures>
            <Figure
              label="Hourly rate"
              analysis="funding"
              path="funding.current_rate"
              tone={toneOf(funding.current_rate)}
            >
              {signedBps(funding.current_rate * 1e4, 3)}
            </Figure>
            <Figure
              label="Annualised"
              analysis="funding"
              path="funding.annualized_pct"
              tone={toneOf(funding.annualized_pct)}
            >
              {signedPercent(funding.annualized_pct)}
            </Figure>
            <Figure label="Percentile" analysis="funding" path="funding.percentile">
              <Percentile
                value={funding.percentile}
                among={`${Math.round(funding.percentile_window_hours / 24)} d`}
              />
            </Figure>
            <Figure label="Bias" analysis="funding" path="funding.bias">
              {word(funding.bias)}
            </Figure>
            <Figure label="Crowding" analysis="funding" path="funding.crowding">
              {word(funding.crowding)}
            </Figure>
            <Figure label="Premium" analysis="funding" path="funding.premium_bps">
              {signedBps(funding.premium_bps)}
            </Figure>
          </Figures>
          <h3>
            <Term analysis="funding" path="funding.history">
              Hourly payments
            </Term>
            , band of the last 30 days
          </h3>
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
        <thead>
          <tr>
            <th scope="col">Window</th>
            <th scope="col">
              <Term analysis="funding" path="funding.windows.7d.average_annualized_pct">
                Average, annualised
              </Term>
            </th>
            <th scope="col">
              <Term analysis="funding" path="funding.windows.7d.cumulative_pct">
                Paid by longs
              </Term>
            </th>
            <th scope="col">
              <Term analysis="funding" path="funding.windows.7d.positive_pct">
                Hours positive
              </Term>
            </th>
            <th scope="col">
              <Term analysis="funding" path="funding.windows.7d.flips">
                Flips
              </Term>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([window, statistics]) => (
            <tr key={window}>
              <th scope="row">{window}</th>
              <td>{signedPercent(statistics.average_annualized_pct)}</td>
              <td>{signedPercent(statistics.cumulative_pct, 3)}</td>
              <td>{percent(statistics.positive_pct, 0)}</td>
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
      <h3>
        <Term analysis="funding" path="venues">
          Other exchanges
        </Term>
      </h3>
      <ScrollRegion label="Funding on other exchanges">
        <table>
          <thead>
            <tr>
              <th scope="col">Exchange</th>
              <th scope="col">
                <Term analysis="funding" path="venues[].hourly_rate">
                  Hourly rate
                </Term>
              </th>
              <th scope="col">
                <Term analysis="funding" path="venues[].annualized_pct">
                  Annualised
                </Term>
              </th>
              <th scope="col">
                <Term analysis="funding" path="venues[].next_funding_iso">
                  Next
                </Term>
              </th>
            </tr>
          </thead>
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
