import { SeriesChart } from '../../charts/series-chart.tsx'
import { FigureList, figure, noted } from '../../components/figure.tsx'
import {
  bps,
  count,
  duration,
  NOTHING,
  plain,
  price,
  sharePercent,
  signedBps,
  usd,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { Term, TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

type Book = AnswerOf<'spread'>['spread']

/** What it costs to trade: spread, cost of both sides by size, and depth. */
export function BookPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'spread'>> title="Book" name={documentName('spread', coin)}>
      {({ spread }) => (
        <>
          <BookFigures spread={spread} />
          <TermHeading title="Cost by size" analysis="spread" path="spread.slippage">
            , both sides
          </TermHeading>
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
    <FigureList
      analysis="spread"
      rows={[
        figure('Bid', 'spread.best_bid', price(spread.best_bid)),
        figure('Ask', 'spread.best_ask', price(spread.best_ask)),
        figure('Spread', 'spread.bid_ask_bps', bps(spread.bid_ask_bps)),
        figure(
          'Median spread',
          'spread.vs_24h.median_bid_ask_bps',
          vs_24h.median_bid_ask_bps === null
            ? NOTHING
            : noted(
                bps(vs_24h.median_bid_ask_bps),
                `of ${duration(vs_24h.window_hours * 3_600_000)}`,
              ),
        ),
        figure(
          'Liquidity',
          'spread.liquidity_score',
          spread.liquidity_score === null
            ? NOTHING
            : noted(`${spread.liquidity_score} of 10`, word(spread.liquidity_label)),
        ),
        figure(
          'Size within 10 bps',
          'spread.max_size_10bps_usd',
          `${spread.max_size_10bps_is_floor ? '≥ ' : ''}${usd(spread.max_size_10bps_usd)}`,
        ),
        figure('Imbalance', 'spread.imbalance', plain(spread.imbalance)),
        figure(
          `Paid by takers, ${duration(trade_costs.window_seconds * 1_000)}`,
          'spread.trade_costs.effective_spread_bps',
          bps(trade_costs.effective_spread_bps),
        ),
        figure(
          'Kept by makers',
          'spread.trade_costs.realized_spread_10s_bps',
          signedBps(trade_costs.realized_spread_10s_bps),
        ),
      ]}
    />
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
                `${usd(notional_usd)} (${sharePercent(filled_pct)} visible)`,
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
    <Table
      label="Depth by distance"
      look="depth"
      analysis="spread"
      columns={[
        { title: 'Within' },
        { title: 'Bids', path: 'spread.depth.bid_10bps_usd' },
        { title: 'Asks', path: 'spread.depth.ask_10bps_usd', kind: 'text' },
      ]}
      rows={[
        ...rows.map(([distance, bid, ask]) => ({
          key: distance,
          cells: [
            distance,
            <span key="bid" class="depth-side">
              {usd(bid)}
              <span class="depth-bid" style={{ width: `${(40 * (bid ?? 0)) / largest}%` }} />
            </span>,
            <span key="ask" class="depth-side">
              <span class="depth-ask" style={{ width: `${(40 * (ask ?? 0)) / largest}%` }} />
              {usd(ask)}
            </span>,
          ],
        })),
        {
          key: 'visible',
          cells: [
            'Visible',
            <Term key="bid" analysis="spread" path="spread.depth.bid_visible_bps">
              {bps(depth.bid_visible_bps, 1)}
            </Term>,
            <Term key="ask" analysis="spread" path="spread.depth.ask_visible_bps">
              {bps(depth.ask_visible_bps, 1)}
            </Term>,
          ],
        },
      ]}
    />
  )
}
