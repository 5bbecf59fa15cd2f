import { count, NOTHING, plain, word } from '../../components/format.ts'
import type { HeadColumn } from '../../components/table.tsx'
import { Table } from '../../components/table.tsx'
import type { RecordRow } from './record-rows.ts'

/** Range of the drawn lifts. Intervals beyond it are clipped; the numbers beside them are complete. */
const LIFT_MAX = 1.5
const LIFT_MIN = 0.5
const SCALE_PX = 120
const ROW_PX = 16

const columns: readonly HeadColumn[] = [
  { title: 'Rule', analysis: 'track-record', path: 'records[].rule' },
  { title: 'Status', analysis: 'track-record', path: 'records[].status', kind: 'text' },
  { title: 'Horizon', analysis: 'track-record', path: 'records[].horizon_hours' },
  { title: 'Coins', analysis: 'track-record', path: 'records[].coin_class', kind: 'text' },
  { title: 'Lift', analysis: 'track-record', path: 'records[].windows[].lift' },
  {
    ...{ analysis: 'track-record', path: 'records[].windows[].lift_low' },
    ...{ title: '95 % interval of lift (control: 1)', kind: 'text' },
  },
  { title: 'Skill', analysis: 'track-record', path: 'records[].windows[].skill' },
  { title: 'Independent claims', analysis: 'track-record', path: 'records[].windows[].n_eff' },
  { title: 'Evidence', analysis: 'track-record', path: 'backtests', kind: 'text' },
]

/** Each rule by horizon and class of coin: status, lift with its interval, skill. */
export function RecordTable({ rows }: { readonly rows: readonly RecordRow[] }) {
  return (
    <Table
      label="Record of every rule"
      look="data"
      columns={columns}
      rows={rows.map((row) => ({
        key: row.name,
        cells: [
          row.rule,
          <span key="status" class={`status status-${row.status}`}>
            {word(row.status)}
          </span>,
          `${row.horizon_hours} h`,
          word(row.coin_class),
          plain(row.lift, 3),
          <LiftInterval key="lift" row={row} />,
          plain(row.skill, 3),
          count(row.n_eff),
          evidenceOf(row),
        ],
      }))}
    />
  )
}

function evidenceOf({ evidence, day, claimedUntil }: RecordRow): string {
  if (evidence === 'backtest') return `recorded until ${day}`
  return claimedUntil === null
    ? `live since ${day}`
    : `live from ${day} until ${claimedUntil}, not claimed now`
}

function LiftInterval({ row: { lift, lift_low, lift_high } }: { readonly row: RecordRow }) {
  if (lift === null || lift_low === null || lift_high === null) return <>{NOTHING}</>
  const xOf = (value: number) =>
    ((Math.min(LIFT_MAX, Math.max(LIFT_MIN, value)) - LIFT_MIN) / (LIFT_MAX - LIFT_MIN)) * SCALE_PX
  const middle = ROW_PX / 2
  return (
    <>
      <svg width={SCALE_PX} height={ROW_PX} class="lift" aria-hidden="true">
        <line x1={xOf(1)} y1={0} x2={xOf(1)} y2={ROW_PX} class="lift-control" />
        <line x1={xOf(lift_low)} y1={middle} x2={xOf(lift_high)} y2={middle} class="lift-range" />
        {lift >= LIFT_MIN && lift <= LIFT_MAX && (
          <circle cx={xOf(lift)} cy={middle} r={3} class="lift-dot" />
        )}
      </svg>{' '}
      {plain(lift_low, 3)} to {plain(lift_high, 3)}
    </>
  )
}
