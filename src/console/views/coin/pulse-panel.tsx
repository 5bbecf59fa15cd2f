import type { Tone } from '../../components/figure.tsx'
import { FigureList, figure, noted, toned, toneOf } from '../../components/figure.tsx'
import { bps, plain, price, signed, signedPercent, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
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
          <PulseFigures coin={coin} pulse={pulse} atMs={atMs} />
          <Timeframes pulse={pulse} />
        </div>
      )}
    </Panel>
  )
}

type PulseFiguresProps = { readonly coin: string; readonly pulse: Pulse; readonly atMs: number }

function PulseFigures({ coin, pulse, atMs }: PulseFiguresProps) {
  const { derivatives, regime, confluence } = pulse
  // Mark and oracle price, where other documents have them for the instant of the pulse, whose age the panel shows.
  const interest = useDocument<AnswerOf<'oi'>>(documentName('oi', coin)).value
  const basis = useDocument<AnswerOf<'basis'>>(documentName('basis', coin)).value
  const { funding_annualized_pct: funding } = derivatives
  return (
    <FigureList
      analysis="pulse"
      rows={[
        figure('Mid price', 'price.current', price(pulse.price.current)),
        isOfInstant(interest, atMs) && {
          ...{ label: 'Mark price', analysis: 'oi', path: 'price' },
          value: price(interest.answer.price),
        },
        isOfInstant(basis, atMs) && {
          ...{ label: 'Oracle price', analysis: 'basis', path: 'basis.venue_oracle_price' },
          value: price(basis.answer.basis.venue_oracle_price),
        },
        figure('Spread', 'derivatives.spread_bps', bps(derivatives.spread_bps)),
        figure(
          'Funding p.a.',
          'derivatives.funding_annualized_pct',
          signedPercent(funding),
          toneOf(funding),
        ),
        figure('Open interest', 'derivatives.open_interest', usd(derivatives.open_interest)),
        figure('Market regime', 'regime.current', word(regime.current)),
        figure(
          'Confluence',
          'confluence.score',
          noted(word(confluence.bias), plain(confluence.score)),
          toneOfBias(confluence.bias),
        ),
      ]}
    />
  )
}

function Timeframes({ pulse: { timeframes, confluence } }: { readonly pulse: Pulse }) {
  const shown = (['15m', '1h', '4h'] as const).flatMap((name) => {
    const timeframe = timeframes[name]
    return timeframe === undefined ? [] : [{ name, ...timeframe }]
  })
  return (
    <Table
      label="Confluence and indicators by timeframe"
      analysis="pulse"
      columns={[
        { title: 'Timeframe' },
        { title: 'Net vote', path: 'confluence.per_timeframe.*.net' },
        { title: 'Trend', path: 'timeframes.1h.indicators.trend.direction' },
        { title: 'RSI', path: 'timeframes.1h.indicators.rsi_14' },
        { title: 'ATR', path: 'timeframes.1h.indicators.atr_pct' },
        { title: 'Z-score', path: 'timeframes.1h.indicators.zscore_100' },
      ]}
      rows={shown.map(({ name, indicators: { trend, rsi_14, atr_pct, zscore_100 } }) => {
        const vote = confluence.per_timeframe[name]
        return {
          key: name,
          cells: [
            name,
            toned(toneOfBias(vote?.bias), `${word(vote?.bias)} ${vote ? signed(vote.net) : ''}`),
            toned(toneOfBias(trend.label), word(trend.label)),
            ...[plain(rsi_14, 1), `${plain(atr_pct)} %`, plain(zscore_100)],
          ],
        }
      })}
    />
  )
}

function toneOfBias(bias = ''): Tone {
  return biasTones[bias] ?? 'plain'
}
