import { FigureList, figure, noted } from '../../components/figure.tsx'
import { count, percent, plain } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { percentile } from '../../components/percentile.tsx'
import { ShareBar } from '../../components/share-bar.tsx'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

type Volatility = AnswerOf<'volatility'>

/** How much the price moved, by window and estimator, and the forecast with its errors. */
export function VolatilityPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<Volatility> title="Volatility" name={documentName('volatility', coin)} width="wide">
      {({
        volatility_24h_pct,
        percentile_30d,
        percentile_window_hours,
        forecast_24h,
        realised,
      }) => (
        <div class="split">
          <div>
            <FigureList
              analysis="volatility"
              rows={[
                figure('Last 24 h', 'volatility_24h_pct', percent(volatility_24h_pct, 1)),
                figure(
                  'Percentile',
                  'percentile_30d',
                  percentile(percentile_30d, percentile_window_hours),
                ),
                figure(
                  'Forecast, next 24 h',
                  'forecast_24h.blend_pct',
                  noted(percent(forecast_24h.blend_pct, 1), rangeText(forecast_24h)),
                ),
                figure(
                  'HAR forecast',
                  'forecast_24h.volatility_pct',
                  percent(forecast_24h.volatility_pct, 1),
                ),
              ]}
            />
            <TermHeading
              title="Error of past forecasts"
              analysis="volatility"
              path="forecast_24h.out_of_sample_error_pct"
            >
              , {count(forecast_24h.evaluations)} hours
            </TermHeading>
            <ForecastErrors forecast={forecast_24h} />
          </div>
          <div>
            <h3>Realised, annualised %</h3>
            <Realised realised={realised} />
          </div>
        </div>
      )}
    </Panel>
  )
}

function rangeText({ blend_low_pct, blend_high_pct }: Volatility['forecast_24h']): string {
  return `${percent(blend_low_pct, 0)} to ${percent(blend_high_pct, 0)}`
}

function ForecastErrors({ forecast }: { readonly forecast: Volatility['forecast_24h'] }) {
  const { out_of_sample_error_pct: own, naive_error_pct: naive } = forecast
  const largest = Math.max(1, own ?? 0, naive ?? 0)
  return (
    <dl class="shares">
      <ShareBar
        label="HAR model"
        analysis="volatility"
        path="forecast_24h.method"
        share={(own ?? 0) / largest}
        text={percent(own, 1)}
      />
      <ShareBar
        label="Last 24 h repeated"
        analysis="volatility"
        path="forecast_24h.naive_error_pct"
        share={(naive ?? 0) / largest}
        text={percent(naive, 1)}
      />
    </dl>
  )
}

function Realised({ realised }: Pick<Volatility, 'realised'>) {
  const windows = [
    ['1 h', realised['1h']],
    ['4 h', realised['4h']],
    ['24 h', realised['24h']],
    ['7 d', realised['7d']],
  ] as const
  return (
    <Table
      label="Realised volatility by window and estimator"
      analysis="volatility"
      columns={[
        { title: 'Window' },
        { title: 'Close to close', path: 'realised.24h.close_to_close_pct' },
        { title: 'Parkinson', path: 'realised.24h.parkinson_pct' },
        { title: 'Yang-Zhang', path: 'realised.24h.yang_zhang_pct' },
        { title: 'Ratio', path: 'realised.24h.parkinson_to_close_ratio' },
        { title: 'Bars', path: 'realised.24h.bars' },
      ]}
      rows={windows.map(([window, measured]) => ({
        key: window,
        cells: [
          window,
          plain(measured.close_to_close_pct, 1),
          plain(measured.parkinson_pct, 1),
          plain(measured.yang_zhang_pct, 1),
          plain(measured.parkinson_to_close_ratio),
          measured.bars,
        ],
      }))}
    />
  )
}
