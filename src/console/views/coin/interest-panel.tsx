import { SeriesChart } from '../../charts/series-chart.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import {
  clockTime,
  count,
  percent,
  plain,
  signedPercent,
  usd,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Percentile } from '../../components/percentile.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { interestWindows } from './interest-windows.ts'
import { Quadrant } from './quadrant.tsx'

/** Open interest, and whether positions are opened or closed with the price. */
export function InterestPanel({ coin }: { readonly coin: string }) {
  const name = `/oi/${encodeURIComponent(coin)}`
  const state = useDocument<AnswerOf<'oi'>>(name)
  return (
    <Panel title="Open interest" name={name} state={state}>
      {({ oi }) => (
        <>
          <Figures>
            <Figure label="Notional" analysis="oi" path="oi.notional_usd">
              {usd(oi.notional_usd)}
            </Figure>
            <Figure label="Contracts" analysis="oi" path="oi.current">
              {count(oi.current)}
            </Figure>
            <Figure label="Percentile" analysis="oi" path="oi.percentile">
              <Percentile
                value={oi.percentile}
                among={`${Math.round(oi.percentile_window_hours / 24)} d`}
              />
            </Figure>
            <Figure label="Trend" analysis="oi" path="oi.trend">
              {word(oi.trend)}
            </Figure>
            <Figure label="To 24 h volume" analysis="oi" path="oi.oi_to_volume_24h">
              {plain(oi.oi_to_volume_24h)}
            </Figure>
            <Figure label="Share of the venue" analysis="oi" path="oi.share_pct">
              {percent(oi.share_pct)}
            </Figure>
            <Figure label="Divergence" analysis="oi" path="oi.price_oi_divergence">
              {word(oi.price_oi_divergence)}
            </Figure>
          </Figures>
          <h3>
            <Term analysis="oi" path="oi.positioning">
              Positioning
            </Term>{' '}
            of the last 4 hours: {word(oi.positioning)}
          </h3>
          <Quadrant
            positioning={oi.positioning}
            pricePct={oi.price_change_4h}
            interestPct={oi.delta_4h}
          />
          <Changes oi={oi} />
          <h3>
            <Term analysis="oi" path="oi.history">
              Last 24 hours
            </Term>
          </h3>
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

function Changes({ oi }: { readonly oi: AnswerOf<'oi'>['oi'] }) {
  return (
    <ScrollRegion label="Changes of open interest and price by window">
      <table>
        <thead>
          <tr>
            <th scope="col">Over</th>
            <th scope="col">
              <Term analysis="oi" path="oi.delta_24h">
                Contracts
              </Term>
            </th>
            <th scope="col">
              <Term analysis="oi" path="oi.notional_delta_24h_pct">
                Notional
              </Term>
            </th>
            <th scope="col">
              <Term analysis="oi" path="oi.price_change_24h">
                Price
              </Term>
            </th>
          </tr>
        </thead>
        <tbody>
          {interestWindows(oi).map(({ window, contractsPct, notionalPct, pricePct }) => (
            <tr key={window}>
              <th scope="row">{window}</th>
              <td class={`tone-${toneOf(contractsPct)}`}>{signedPercent(contractsPct)}</td>
              <td class={`tone-${toneOf(notionalPct)}`}>{signedPercent(notionalPct)}</td>
              <td class={`tone-${toneOf(pricePct)}`}>{signedPercent(pricePct)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
