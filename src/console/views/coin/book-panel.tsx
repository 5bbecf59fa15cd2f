import { SeriesChart } from '../../charts/series-chart.tsx'
import { Figure, Figures } from '../../components/figure.tsx'
import {
  bps,
  count,
  duration,
  percent,
  plain,
  price,
  signedBps,
  usd,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'

type Book = AnswerOf<'spread'>['spread']

/** What it costs to trade: spread, cost of both sides by size, and depth. */
export function BookPanel({ coin }: { readonly coin: string }) {
  const name = `/spread/${encodeURIComponent(coin)}`
  const state = useDocument<AnswerOf<'spread'>>(name)
  return (
    <Panel title="Book" name={name} state={state}>
      {({ spread }) => (
        <>
          <BookFigures spread={spread} />
          <h3>
            <Term analysis="spread" path="spread.slippage">
              Cost by size
            </Term>
            , both sides
          </h3>
          <CostCurve coin={coin} spread={spread} />
          <h3>Depth around the mid price</h3>
          <Depth spread={spread} />
          <p class="note">
            <Term analysis="spread" path="spread.calibration">
              Estimates checked
            </Term>{' '}
            on {count(spread.calibration.n)} executions:{' '}
            {spread.calibration.median_abs_error_bps === null
              ? 'too few to state an error.'
              : `median error ${bps(spread.calibration.median_abs_error_bps)}, 90 % within ${bps(spread.calibration.p90_abs_error_bps)}.`}
          </p>
        </>
      )}
    </Panel>
  )
}

function BookFigures({ spread }: { readonly spread: Book }) {
  const { trade_costs, vs_24h } = spread
  return (
    <Figures>
      <Figure label="Bid" analysis="spread" path="spread.best_bid">
        {price(spread.best_bid)}
      </Figure>
      <Figure label="Ask" analysis="spread" path="spread.best_ask">
        {price(spread.best_ask)}
      </Figure>
      <Figure label="Spread" analysis="spread" path="spread.bid_ask_bps">
        {bps(spread.bid_ask_bps)}
      </Figure>
      <Figure
        label={`Median of ${duration(vs_24h.window_hours * 3_600_000)}`}
        analysis="spread"
        path="spread.vs_24h.median_bid_ask_bps"
      >
        {bps(vs_24h.median_bid_ask_bps)}
      </Figure>
      <Figure label="Liquidity" analysis="spread" path="spread.liquidity_score">
        {spread.liquidity_score === null ? (
          plain(null)
        ) : (
          <>
            {spread.liquidity_score} of 10 <small>{word(spread.liquidity_label)}</small>
          </>
        )}
      </Figure>
      <Figure label="Size within 10 bps" analysis="spread" path="spread.max_size_10bps_usd">
        {spread.max_size_10bps_is_floor ? '≥ ' : ''}
        {usd(spread.max_size_10bps_usd)}
      </Figure>
      <Figure label="Imbalance" analysis="spread" path="spread.imbalance">
        {plain(spread.imbalance)}
      </Figure>
      <Figure
        label="Paid by takers, 1 h"
        analysis="spread"
        path="spread.trade_costs.effective_spread_bps"
      >
        {bps(trade_costs.effective_spread_bps)}
      </Figure>
      <Figure
        label="Kept by makers"
        analysis="spread"
        path="spread.trade_costs.realized_spread_10s_bps"
      >
        {signedBps(trade_costs.realized_spread_10s_bps)}
      </Figure>
    </Figures>
  )
}

function CostCurve({ coin, spread }: { readonly coin: string; readonly spread: Book }) {
  const { slippage } = spread
  if (slippage.length === 0)
    return <p class="empty">The USD price of the collateral is not available.</p>
  const modelled = slippage.filter(({ method }) => method === 'model')
  return (
    <>
      <SeriesChart
        label={`cost of buying and selling ${coin} by size`}
        x={{
          ...{ name: 'Size', kind: 'log', format: usd },
          values: slippage.map(({ notional_usd }) => notional_usd),
        }}
        columns={[
          {
            ...{ name: 'buy', tone: 'up', shape: 'line' },
            values: slippage.map(({ buy_bps }) => buy_bps),
          },
          {
            ...{ name: 'sell', tone: 'down', shape: 'dashed' },
            values: slippage.map(({ sell_bps }) => sell_bps),
          },
        ]}
        format={bps}
        isFromZero
        height={150}
      />
      {modelled.length > 0 && (
        <p class="note">
          <Term analysis="spread" path="spread.slippage[].method">
            Modelled
          </Term>
          , because the visible book is smaller:{' '}
          {modelled
            .map(
              ({ notional_usd, filled_pct }) =>
                `${usd(notional_usd)} (${percent(filled_pct, 0)} visible)`,
            )
            .join(', ')}
          .
        </p>
      )}
    </>
  )
}

function Depth({ spread: { depth } }: { readonly spread: Book }) {
  const largest = Math.max(1, depth.bid_50bps_usd ?? 0, depth.ask_50bps_usd ?? 0)
  const rows = [
    ['5 bps', depth.bid_5bps_usd, depth.ask_5bps_usd],
    ['10 bps', depth.bid_10bps_usd, depth.ask_10bps_usd],
    ['50 bps', depth.bid_50bps_usd, depth.ask_50bps_usd],
  ] as const
  return (
    <ScrollRegion label="Depth by distance">
      <table class="depth">
        <thead>
          <tr>
            <th scope="col">Within</th>
            <th scope="col">
              <Term analysis="spread" path="spread.depth.bid_10bps_usd">
                Bids
              </Term>
            </th>
            <th scope="col" class="text">
              <Term analysis="spread" path="spread.depth.ask_10bps_usd">
                Asks
              </Term>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([distance, bid, ask]) => (
            <tr key={distance}>
              <th scope="row">{distance}</th>
              <td>
                <span class="depth-side">
                  {usd(bid)}
                  <span class="depth-bid" style={{ width: `${(40 * (bid ?? 0)) / largest}%` }} />
                </span>
              </td>
              <td class="text">
                <span class="depth-side">
                  <span class="depth-ask" style={{ width: `${(40 * (ask ?? 0)) / largest}%` }} />
                  {usd(ask)}
                </span>
              </td>
            </tr>
          ))}
          <tr>
            <th scope="row">Visible</th>
            <td>
              <Term analysis="spread" path="spread.depth.bid_visible_bps">
                {bps(depth.bid_visible_bps, 1)}
              </Term>
            </td>
            <td class="text">
              <Term analysis="spread" path="spread.depth.ask_visible_bps">
                {bps(depth.ask_visible_bps, 1)}
              </Term>
            </td>
          </tr>
        </tbody>
      </table>
    </ScrollRegion>
  )
}
