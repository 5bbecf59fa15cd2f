import { useMemo } from 'preact/hooks'
import { HeatMap } from '../../charts/heat-map.tsx'
import { heatLimit } from '../../charts/heat-scale.ts'
import { signedBps } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Term } from '../../components/term.tsx'
import { hrefOf, navigate, place, setParameter } from '../../shell/router.ts'
import { fundingRows, hoursFrom } from './funding-rows.ts'
import type { Overview } from './overview.ts'

const PERIOD_SECONDS = 60
const ROWS_FIRST = 30

/** Settled funding, coin by hour. */
export function FundingPanel() {
  return (
    <Panel<Overview>
      title="Funding by hour"
      name="/overview"
      width="wide"
      periodSeconds={PERIOD_SECONDS}
    >
      {(overview) =>
        overview.funding_from_ms === null ? (
          <p class="empty">No settled funding has been received yet.</p>
        ) : (
          <FundingMap overview={overview} fromMs={overview.funding_from_ms} />
        )
      }
    </Panel>
  )
}

const hour = new Intl.DateTimeFormat('en', {
  ...{ weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
})
const rate = (value: number) => signedBps(value, 3)

type FundingMapProps = { readonly overview: Overview; readonly fromMs: number }

function FundingMap({ overview, fromMs }: FundingMapProps) {
  const hasAll = place.value.query.get('funding') === 'all'
  const all = useMemo(() => fundingRows(overview), [overview])
  const shown = useMemo(() => {
    const rows = hasAll ? all : all.slice(0, ROWS_FIRST)
    const count = rows[0]?.rates.length ?? 0
    return {
      rows: rows.map(({ coin }) => coin),
      columns: hoursFrom(fromMs, count).map((ms) => hour.format(ms)),
      values: rows.map(({ rates }) => rates),
      limit: heatLimit(rows.flatMap(({ rates }) => rates)),
    }
  }, [all, hasAll, fromMs])
  const highest = all.reduce((one, other) => (other.meanBps > one.meanBps ? other : one))
  const lowest = all.reduce((one, other) => (other.meanBps < one.meanBps ? other : one))
  return (
    <>
      <p class="count">
        <Term analysis="overview" path="coins[].funding_bps">
          Rate of each hour
        </Term>
        , the largest mean in either direction first. Longs pay a positive rate, shorts a negative
        one. Highest mean: {highest.coin} ({rate(highest.meanBps)}). Lowest: {lowest.coin} (
        {rate(lowest.meanBps)}).
      </p>
      <HeatMap
        label={`funding of ${shown.rows.length} coins by hour`}
        {...shown}
        format={rate}
        rowHeight={16}
        onSelect={({ row }) => navigate(hrefOf('coin', shown.rows[row] ?? ''))}
      />
      {all.length > ROWS_FIRST && (
        <button
          type="button"
          class="button"
          onClick={() => setParameter('funding', hasAll ? null : 'all')}
        >
          {hasAll ? `Show the first ${ROWS_FIRST} coins` : `Show all ${all.length} coins`}
        </button>
      )}
    </>
  )
}
