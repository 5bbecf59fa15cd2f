import type { Tone } from '../../components/figure.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { bps, plain, price, signed, signedPercent, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { isOfInstant } from '../../live/same-instant.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

type Pulse = AnswerOf<'pulse'>

const biasTones: Readonly<Record<string, Tone>> = { bullish: 'up', bearish: 'down' }

/** Prices, regime and the vote of the indicators by timeframe. */
export function PulsePanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<Pulse> title="Pulse" name={documentName('pulse', coin)} width="wide">
      {(pulse, { atMs }) => (
        <div class="pulse">
          <Figures>
            <Figure analysis="pulse" path="price.current" label="Mid price">
              {price(pulse.price.current)}
            </Figure>
            <VenuePrices coin={coin} atMs={atMs} />
            <Figure analysis="pulse" path="derivatives.spread_bps" label="Spread">
              {bps(pulse.derivatives.spread_bps)}
            </Figure>
            <Figure
              analysis="pulse"
              path="derivatives.funding_annualized_pct"
              label="Funding p.a."
              tone={toneOf(pulse.derivatives.funding_annualized_pct)}
            >
              {signedPercent(pulse.derivatives.funding_annualized_pct)}
            </Figure>
            <Figure analysis="pulse" path="derivatives.open_interest" label="Open interest">
              {usd(pulse.derivatives.open_interest)}
            </Figure>
            <Figure analysis="pulse" path="regime.current" label="Market regime">
              {word(pulse.regime.current)}
            </Figure>
            <Figure
              analysis="pulse"
              path="confluence.score"
              label="Confluence"
              tone={biasTones[pulse.confluence.bias] ?? 'plain'}
            >
              {word(pulse.confluence.bias)} <small>{plain(pulse.confluence.score)}</small>
            </Figure>
          </Figures>
          <Timeframes pulse={pulse} />
        </div>
      )}
    </Panel>
  )
}

type VenuePricesProps = { readonly coin: string; readonly atMs: number }

/** Mark and oracle price, where other documents have them for the instant of the pulse, whose age the panel shows. */
function VenuePrices({ coin, atMs }: VenuePricesProps) {
  const interest = useDocument<AnswerOf<'oi'>>(documentName('oi', coin)).value
  const basis = useDocument<AnswerOf<'basis'>>(documentName('basis', coin)).value
  return (
    <>
      {isOfInstant(interest, atMs) && (
        <Figure analysis="oi" path="price" label="Mark price">
          {price(interest.answer.price)}
        </Figure>
      )}
      {isOfInstant(basis, atMs) && (
        <Figure analysis="basis" path="basis.venue_oracle_price" label="Oracle price">
          {price(basis.answer.basis.venue_oracle_price)}
        </Figure>
      )}
    </>
  )
}

function Timeframes({ pulse: { timeframes, confluence } }: { readonly pulse: Pulse }) {
  const shown = (['15m', '1h', '4h'] as const).flatMap((name) => {
    const timeframe = timeframes[name]
    return timeframe === undefined ? [] : [{ name, ...timeframe }]
  })
  return (
    <ScrollRegion label="Confluence and indicators by timeframe">
      <table>
        <TableHead
          analysis="pulse"
          columns={[
            { title: 'Timeframe' },
            { title: 'Net vote', path: 'confluence.per_timeframe.*.net' },
            { title: 'Trend', path: 'timeframes.1h.indicators.trend.direction' },
            { title: 'RSI', path: 'timeframes.1h.indicators.rsi_14' },
            { title: 'ATR', path: 'timeframes.1h.indicators.atr_pct' },
            { title: 'Z-score', path: 'timeframes.1h.indicators.zscore_100' },
          ]}
        />
        <tbody>
          {shown.map(({ name, indicators }) => {
            const vote = confluence.per_timeframe[name]
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class={`tone-${biasTones[vote?.bias ?? ''] ?? 'plain'}`}>
                  {word(vote?.bias)} {vote && signed(vote.net)}
                </td>
                <td class={`tone-${biasTones[indicators.trend.label] ?? 'plain'}`}>
                  {word(indicators.trend.label)}
                </td>
                <td>{plain(indicators.rsi_14, 1)}</td>
                <td>{plain(indicators.atr_pct)} %</td>
                <td>{plain(indicators.zscore_100)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
