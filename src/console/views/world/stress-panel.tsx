import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import { Bar } from '../../components/bar.tsx'
import { columnsOf, DataTable } from '../../components/data-table.tsx'
import type { Tone } from '../../components/figure.tsx'
import { FigureList, figure, toned, toneOf } from '../../components/figure.tsx'
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
import { percentile } from '../../components/percentile.tsx'
import { Table } from '../../components/table.tsx'
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
        figure('Index', 'index', plain(index, 1)),
        figure('Regime', 'regime', word(regime)),
        figure('Level', 'stress_level', word(stress_level)),
        figure('Change, 1 h', 'trend.change_1h', change(trend.change_1h)),
        figure('Change, 24 h', 'trend.change_24h', change(trend.change_24h)),
        figure(
          'Percentile',
          'baseline.score_percentile_7d',
          percentile(baseline.score_percentile_7d, baseline.window_hours),
        ),
        figure('Diversification', 'diversification', plain(diversification, 1)),
        figure('Dislocations', 'dislocations_count', count(answer.dislocations_count)),
        figure('Largest', 'max_dislocation_bps', bps(answer.max_dislocation_bps, 1)),
        override !== null && figure('Override', 'override', word(override), 'down'),
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
      <Table
        look="bars"
        analysis="arb"
        columns={[
          { title: 'Score', path: 'components', colSpan: 2 },
          { title: 'Measure', path: 'component_details.dispersion.raw' },
          { title: 'Weight', path: 'component_details.dispersion.weight' },
          { title: 'Points', path: 'component_details.dispersion.contribution' },
        ]}
        rows={Object.entries(answer.component_details).map(
          ([name, { score, unit, raw, weight, contribution }]) => ({
            key: name,
            cells: [
              word(name),
              <>
                <span class="visually-hidden">{plain(score)}</span>
                <Bar share={score} tone={score >= 0.5 ? 'warn' : 'plain'} />
              </>,
              raws[unit](raw),
              percent(100 * weight, 0),
              plain(contribution, 1),
            ],
          }),
        )}
      />
    </div>
  )
}

const chainTones: Readonly<Record<Arb['chains'][number]['status'], Tone>> = {
  ok: 'up',
  stale: 'warn',
  down: 'down',
}

function Chains({ answer, instant }: LiveProps) {
  const columns = columnsOf<Arb['chains'][number]>((column) => [
    { id: 'chain', title: 'Chain', isText: true, value: ({ chain }) => chain },
    column('status', 'Status', 'chains[].status', (status) => toned(chainTones[status], status), {
      isText: true,
    }),
    column('age', 'Newest block', 'chains[].data_age_seconds', (seconds) => (
      <Age seconds={seconds} instant={instant} />
    )),
    {
      ...{ id: 'fresh', title: 'Used', path: 'chains[].is_fresh', isText: true },
      value: ({ is_fresh }) => (is_fresh ? 'yes' : 'no'),
    },
    column('gas', 'Gas of a swap', 'chains[].gas_usd', usd),
  ])
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

const dislocationColumns = columnsOf<Arb['dislocations'][number]>((column) => [
  { id: 'token', title: 'Asset', isText: true, value: ({ token }) => token },
  { id: 'buy', title: 'Buy on', isText: true, value: ({ buy_chain }) => buy_chain },
  { id: 'sell', title: 'Sell on', isText: true, value: ({ sell_chain }) => sell_chain },
  column('net', 'Net', 'dislocations[].net_bps', (net) => toned(toneOf(net), signedBps(net, 1))),
  column('gross', 'Gross', 'dislocations[].gross_bps', (gross) => bps(gross, 1)),
  column('cost', 'Cost', 'dislocations[].est_cost_bps', (cost) => bps(cost, 1)),
  column('for', 'For', 'dislocations[].persistence_seconds', (s) => duration(1_000 * s)),
])

function Dislocations({ answer: { dislocations, threshold_bps } }: AnswerProps) {
  return (
    <>
      <TermHeading title="Dislocations" analysis="arb" path="dislocations">
        {' '}
        of {bps(threshold_bps, 0)} and more
      </TermHeading>
      <DataTable
        label="Dislocations"
        analysis="arb"
        parameter="dislocations"
        columns={dislocationColumns}
        rows={dislocations}
        keyOf={({ token, buy_chain, sell_chain }) => `${token} ${buy_chain} ${sell_chain}`}
        none="None."
      />
    </>
  )
}

const opportunityColumns = columnsOf<Arb['opportunities'][number]>((column) => [
  { id: 'asset', title: 'Asset', isText: true, value: ({ asset }) => asset },
  { id: 'buy', title: 'Buy on', isText: true, value: ({ buy_chain }) => buy_chain },
  { id: 'sell', title: 'Sell on', isText: true, value: ({ sell_chain }) => sell_chain },
  column('net', 'Net, inventory', 'opportunities[].net_inventory_bps', (net) => signedBps(net, 1)),
  column('bridge', 'Net, bridge', 'opportunities[].net_bridge_bps', (net) => signedBps(net, 1)),
  column('usd', 'Net of the notional', 'opportunities[].net_usd', usd),
  // At the scan, as the class is.
  column('age', 'For', 'opportunities[].age_seconds', (s) => duration(1_000 * s)),
  column('class', 'Class', 'opportunities[].class', word, { isText: true }),
  column('confidence', 'Confidence', 'opportunities[].confidence', (share) => plain(share)),
])

function Opportunities({ answer: { opportunities } }: AnswerProps) {
  return (
    <>
      <TermHeading title="Profitable after cost" analysis="arb" path="opportunities" />
      <DataTable
        label="Profitable pairs"
        analysis="arb"
        parameter="opportunities"
        columns={opportunityColumns}
        rows={opportunities}
        keyOf={({ asset, buy_chain, sell_chain }) => `${asset} ${buy_chain} ${sell_chain}`}
        none="No pair of chains is profitable after cost."
      />
    </>
  )
}
