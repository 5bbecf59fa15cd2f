import { useMemo } from 'preact/hooks'
import { CandleChart } from '../../charts/candle-chart.tsx'
import type { CoinChart } from '../../charts/coin-chart.ts'
import { drawnBars, pulseHourOf } from '../../charts/coin-chart.ts'
import { liquidationMarks } from '../../charts/liquidation-marks.ts'
import { Panel } from '../../components/panel.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { place, setParameter } from '../../shell/router.ts'
import { chartName, documentName } from './coin-documents.ts'

const PARAMETER = 'liquidations'
/** The chart is rendered once a minute. */
const PERIOD_SECONDS = 60

/** Hourly candles; the forming one follows the pulse, and the liquidation prices are drawn over them. */
export function PricePanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<CoinChart>
      title="Price, hourly"
      name={chartName(coin)}
      width="wide"
      periodSeconds={PERIOD_SECONDS}
    >
      {(chart) => <Candles coin={coin} chart={chart} />}
    </Panel>
  )
}

function Candles({ coin, chart }: { readonly coin: string; readonly chart: CoinChart }) {
  const pulse = useDocument<AnswerOf<'pulse'>>(documentName('pulse', coin)).value
  const liquidations = useDocument<AnswerOf<'liquidations'>>(
    documentName('liquidations', coin),
  ).value
  const isAll = place.value.query.get(PARAMETER) === 'all'
  const hour = pulse.kind === 'answer' ? pulse.answer : null
  const map = liquidations.kind === 'answer' ? liquidations.answer : null
  const bars = useMemo(() => drawnBars(chart, hour && pulseHourOf(hour)), [chart, hour])
  const marks = useMemo(() => (map === null ? [] : liquidationMarks(map)), [map])
  return (
    <>
      <CandleChart coin={coin} bars={bars} marks={marks} isScaledToMarks={isAll} />
      <label class="check">
        <input
          type="checkbox"
          checked={isAll}
          onChange={({ currentTarget }) =>
            setParameter(PARAMETER, currentTarget.checked ? 'all' : null)
          }
        />{' '}
        Scale the axis to all liquidation prices
      </label>
    </>
  )
}
