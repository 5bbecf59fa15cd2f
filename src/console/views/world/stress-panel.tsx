import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import { Bar } from '../../components/bar.tsx'
import type { Column } from '../../components/data-table.tsx'
import { DataTable } from '../../components/data-table.tsx'
import type { Tone } from '../../components/figure.tsx'
import { FigureList, toneOf } from '../../components/figure.tsx'
import {
  bps,
  count,
  duration,
  NOTHING,
  percent,
  plain,
  signed,
  signedBps,
  usd,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Percentile } from '../../components/percentile.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'

type Arb = AnswerOf<'arb'>

/** A source of blocks is asked this often. */
const PERIOD_SECONDS = 10

/** Prices of the same assets on eight chains, and the stress that their gaps mean. */
export function StressPanel() {
  return (
    <Panel<Arb>
      title="Stress across chains"
      name="/arb"
      width="wide"
      periodSeconds={PERIOD_SECONDS}
    >
      {(answer, instant) => (
        <>
          <p class="lead">{answer.interpretation}</p>
          <Index answer={answer} />
          <div class="halves">
            <Components answer={answer} />
            <Chains answer={answer} instant={instant} />
          </div>
          <Dislocations answer={answer} />
          <Opportunities answer={answer} />
        </>
      )}
    </Panel>
  )
}

type AnswerProps = { readonly answer: Arb }
type LiveProps = AnswerProps & { readonly instant: AnswerInstant }

function Index({ answer }: AnswerProps) {
  const { index, regime, stress_level, override, trend, baseline, diversification } = answer
  const change = (value: number | null) => (value === null ? NOTHING : signed(value, 1))
  return (
    <FigureList
      analysis="arb"
      rows={[
        { label: 'Index', path: 'index', value: plain(index, 1) },
        { label: 'Regime', path: 'regime', value: word(regime) },
        { label: 'Level', path: 'stress_level', value: word(stress_level) },
        { label: 'Change, 1 h', path: 'trend.change_1h', value: change(trend.change_1h) },
        { label: 'Change, 24 h', path: 'trend.change_24h', value: change(trend.change_24h) },
        {
          ...{ label: 'Percentile', path: 'baseline.score_percentile_7d' },
          value: (
            <Percentile
              value={baseline.score_percentile_7d}
              among={duration(baseline.window_hours * 3_600_000)}
            />
          ),
        },
        { label: 'Diversification', path: 'diversification', value: plain(diversification, 1) },
        {
          ...{ label: 'Dislocations', path: 'dislocations_count' },
          value: count(answer.dislocations_count),
        },
        {
          ...{ label: 'Largest', path: 'max_dislocation_bps' },
          value: bps(answer.max_dislocation_bps, 1),
        },
        ...(override === null
          ? []
          : [
              { label: 'Override', path: 'override', tone: 'down' as const, value: word(override) },
            ]),
      ]}
    />
  )
}

type Detail = Arb['component_details'][keyof Arb['component_details']]

const raws: Readonly<Record<Detail['unit'], (raw: number) => string>> = {
  bps: (raw) => bps(raw, 1),
  share: (raw) => percent(100 * raw, 1),
  seconds: (raw) => duration(1_000 * raw),
}

function Components({ answer }: AnswerProps) {
  return (
    <div>
      <h3>Components of the index</h3>
      <table class="bars">
        <TableHead
          analysis="arb"
          columns={[
            { title: 'Score', path: 'components', colSpan: 2 },
            { title: 'Measure', path: 'component_details.dispersion.raw' },
            { title: 'Weight', path: 'component_details.dispersion.weight' },
            { title: 'Points', path: 'component_details.dispersion.contribution' },
          ]}
        />
        <tbody>
          {Object.entries(answer.component_details).map(([name, detail]) => (
            <tr key={name}>
              <th scope="row">{word(name)}</th>
              <td>
                <span class="visually-hidden">{plain(detail.score)}</span>
                <Bar share={detail.score} tone={detail.score >= 0.5 ? 'warn' : 'plain'} />
              </td>
              <td>{raws[detail.unit](detail.raw)}</td>
              <td>{percent(100 * detail.weight, 0)}</td>
              <td>{plain(detail.contribution, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const chainTones: Readonly<Record<Arb['chains'][number]['status'], Tone>> = {
  ok: 'up',
  stale: 'warn',
  down: 'down',
}

function Chains({ answer, instant }: LiveProps) {
  const columns: readonly Column<Arb['chains'][number]>[] = [
    { id: 'chain', title: 'Chain', isText: true, value: ({ chain }) => chain },
    {
      ...{ id: 'status', title: 'Status', path: 'chains[].status', isText: true },
      value: ({ status }) => status,
      cell: ({ status }) => <span class={`tone-${chainTones[status]}`}>{status}</span>,
    },
    {
      ...{ id: 'age', title: 'Newest block', path: 'chains[].data_age_seconds' },
      value: ({ data_age_seconds }) => data_age_seconds,
      cell: ({ data_age_seconds }) => <Age seconds={data_age_seconds} instant={instant} />,
    },
    {
      ...{ id: 'fresh', title: 'Used', path: 'chains[].is_fresh', isText: true },
      value: ({ is_fresh }) => (is_fresh ? 'yes' : 'no'),
    },
    {
      ...{ id: 'gas', title: 'Gas of a swap', path: 'chains[].gas_usd' },
      value: ({ gas_usd }) => gas_usd,
      cell: ({ gas_usd }) => usd(gas_usd),
    },
  ]
  return (
    <div>
      <h3>Chains</h3>
      <DataTable
        label="Chains"
        analysis="arb"
        parameter="chains"
        columns={columns}
        rows={answer.chains}
        keyOf={({ chain }) => chain}
      />
    </div>
  )
}

const dislocationColumns: readonly Column<Arb['dislocations'][number]>[] = [
  { id: 'token', title: 'Asset', isText: true, value: ({ token }) => token },
  { id: 'buy', title: 'Buy on', isText: true, value: ({ buy_chain }) => buy_chain },
  { id: 'sell', title: 'Sell on', isText: true, value: ({ sell_chain }) => sell_chain },
  {
    ...{ id: 'net', title: 'Net', path: 'dislocations[].net_bps' },
    value: ({ net_bps }) => net_bps,
    cell: ({ net_bps }) => <span class={`tone-${toneOf(net_bps)}`}>{signedBps(net_bps, 1)}</span>,
  },
  {
    ...{ id: 'gross', title: 'Gross', path: 'dislocations[].gross_bps' },
    value: ({ gross_bps }) => gross_bps,
    cell: ({ gross_bps }) => bps(gross_bps, 1),
  },
  {
    ...{ id: 'cost', title: 'Cost', path: 'dislocations[].est_cost_bps' },
    value: ({ est_cost_bps }) => est_cost_bps,
    cell: ({ est_cost_bps }) => bps(est_cost_bps, 1),
  },
  {
    ...{ id: 'for', title: 'For', path: 'dislocations[].persistence_seconds' },
    value: ({ persistence_seconds }) => persistence_seconds,
    cell: ({ persistence_seconds }) => duration(1_000 * persistence_seconds),
  },
]

function Dislocations({ answer: { dislocations, threshold_bps } }: AnswerProps) {
  return (
    <>
      <TermHeading title="Dislocations" analysis="arb" path="dislocations">
        {' '}
        of {bps(threshold_bps, 0)} and more
      </TermHeading>
      {dislocations.length === 0 ? (
        <p class="empty">None.</p>
      ) : (
        <DataTable
          label="Dislocations"
          analysis="arb"
          parameter="dislocations"
          columns={dislocationColumns}
          rows={dislocations}
          keyOf={({ token, buy_chain, sell_chain }) => `${token} ${buy_chain} ${sell_chain}`}
        />
      )}
    </>
  )
}

function Opportunities({ answer: { opportunities } }: AnswerProps) {
  const columns: readonly Column<Arb['opportunities'][number]>[] = [
    { id: 'asset', title: 'Asset', isText: true, value: ({ asset }) => asset },
    { id: 'buy', title: 'Buy on', isText: true, value: ({ buy_chain }) => buy_chain },
    { id: 'sell', title: 'Sell on', isText: true, value: ({ sell_chain }) => sell_chain },
    {
      ...{ id: 'net', title: 'Net, inventory', path: 'opportunities[].net_inventory_bps' },
      value: ({ net_inventory_bps }) => net_inventory_bps,
      cell: ({ net_inventory_bps }) => signedBps(net_inventory_bps, 1),
    },
    {
      ...{ id: 'bridge', title: 'Net, bridge', path: 'opportunities[].net_bridge_bps' },
      value: ({ net_bridge_bps }) => net_bridge_bps,
      cell: ({ net_bridge_bps }) => signedBps(net_bridge_bps, 1),
    },
    {
      ...{ id: 'usd', title: 'Net of the notional', path: 'opportunities[].net_usd' },
      value: ({ net_usd }) => net_usd,
      cell: ({ net_usd }) => usd(net_usd),
    },
    {
      ...{ id: 'age', title: 'For', path: 'opportunities[].age_seconds' },
      value: ({ age_seconds }) => age_seconds,
      // At the scan, as the class is.
      cell: ({ age_seconds }) => duration(1_000 * age_seconds),
    },
    {
      ...{ id: 'class', title: 'Class', path: 'opportunities[].class', isText: true },
      value: (row) => row.class,
      cell: (row) => word(row.class),
    },
    {
      ...{ id: 'confidence', title: 'Confidence', path: 'opportunities[].confidence' },
      value: ({ confidence }) => confidence,
      cell: ({ confidence }) => plain(confidence),
    },
  ]
  return (
    <>
      <TermHeading title="Profitable after cost" analysis="arb" path="opportunities" />
      {opportunities.length === 0 ? (
        <p class="empty">No pair of chains is profitable after cost.</p>
      ) : (
        <DataTable
          label="Profitable pairs"
          analysis="arb"
          parameter="opportunities"
          columns={columns}
          rows={opportunities}
          keyOf={({ asset, buy_chain, sell_chain }) => `${asset} ${buy_chain} ${sell_chain}`}
        />
      )}
    </>
  )
}
