import type { AnswerInstant } from '../../components/age.tsx'
import { Since } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import { FigureList, figure } from '../../components/figure.tsx'
import {
  bps,
  count,
  duration,
  plain,
  signedBps,
  signedPercent,
  usd,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { percentile } from '../../components/percentile.tsx'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { Band } from './band.tsx'
import { pegMarks, pegParts, pegPosition } from './peg-scale.ts'
import { PegSources } from './peg-sources.tsx'

type Depeg = AnswerOf<'depeg'>

/** The dollar in which the venue's margin is held. */
export function PegPanel() {
  return (
    <Panel<Depeg> title="Peg of USDC" name="/depeg" width="wide">
      {(answer, instant) => (
        <>
          <p class="lead">{answer.usdc.interpretation}</p>
          <Level answer={answer} instant={instant} />
          <PegBand answer={answer} />
          <div class="halves">
            <Durations duration={answer.duration} />
            <CrossChain chains={answer.cross_chain} />
          </div>
          <Course answer={answer} />
          <PegSources sources={answer.sources} instant={instant} />
        </>
      )}
    </Panel>
  )
}

type AnswerProps = { readonly answer: Depeg }

function Level({ answer, instant }: AnswerProps & { readonly instant: AnswerInstant }) {
  const { usdc, level, level_name, level_since_iso, health_score } = answer
  const { agreement, infrastructure } = answer
  return (
    <FigureList
      analysis="depeg"
      rows={[
        figure('Price', 'usdc.price_usd', `$${plain(usdc.price_usd, 6)}`),
        figure('Deviation', 'usdc.signed_deviation_bps', signedBps(usdc.signed_deviation_bps)),
        figure(
          'Level',
          'level',
          word(level_name),
          level === 0 ? 'up' : level > 2 ? 'down' : 'warn',
        ),
        figure('For', 'level_since_iso', <Since iso={level_since_iso} instant={instant} />),
        figure('Status', 'usdc.peg_status', word(usdc.peg_status)),
        figure('Health', 'health_score', `${plain(health_score, 0)} of 100`),
        figure(
          'Classes that agree',
          'agreement.agreeing',
          `${agreement.agreeing} of ${agreement.classes}`,
        ),
        figure('Dispersion', 'agreement.dispersion_bps', bps(agreement.dispersion_bps)),
        figure('Oracles', 'infrastructure.oracle_status', word(infrastructure.oracle_status)),
        figure(
          'Feeds within 300 s',
          'infrastructure.feeds_active',
          `${infrastructure.feeds_active} of ${infrastructure.feeds_total}`,
        ),
      ]}
    />
  )
}

function PegBand({
  answer: { usdc, confidence, level_name, deviation_adjusted_bps: adjusted },
}: AnswerProps) {
  const deviation = usdc.signed_deviation_bps
  return (
    <>
      <TermHeading
        title="Deviation within the levels"
        analysis="depeg"
        path="deviation_adjusted_bps"
      >
        , basis points
      </TermHeading>
      <Band
        label={`USDC deviates ${signedBps(deviation)} from one dollar, give or take ${bps(confidence.bps)}: ${signedBps(adjusted)} beyond its uncertainty. Its level is ${level_name}.`}
        parts={pegParts}
        marks={pegMarks}
        value={pegPosition(adjusted)}
        interval={{
          from: pegPosition(deviation - confidence.bps),
          to: pegPosition(deviation + confidence.bps),
        }}
      />
    </>
  )
}

function Durations({ duration: of }: Pick<Depeg, 'duration'>) {
  const spells = [
    ['10 bps', of.below_10_bps_seconds],
    ['25 bps', of.below_25_bps_seconds],
    ['50 bps', of.below_50_bps_seconds],
    ['100 bps', of.below_100_bps_seconds],
  ] as const
  return (
    <div>
      <TermHeading title="Duration" analysis="depeg" path="duration" />
      <Table
        columns={[{ title: 'Deviation from' }, { title: 'For' }]}
        rows={spells.map(([from, seconds]) => ({
          key: from,
          cells: [from, seconds === 0 ? 'not reached' : duration(1_000 * seconds)],
        }))}
      />
    </div>
  )
}

/** At this premium a bar is full. */
const CROSS_CHAIN_BPS_MAX = 25

function CrossChain({ chains }: { readonly chains: Depeg['cross_chain'] }) {
  return (
    <div>
      <TermHeading
        title="Premium over USDT by chain"
        analysis="depeg"
        path="cross_chain[].usdc_usdt_bps"
      />
      <Table
        look="bars"
        rows={chains.map(({ chain, usdc_usdt_bps: premium }) => ({
          key: chain,
          cells: [
            chain,
            <SignedBar key="bar" share={premium / CROSS_CHAIN_BPS_MAX} />,
            signedBps(premium, 1),
          ],
        }))}
      />
    </div>
  )
}

function Course({ answer: { trend, range_24h, history, ema, flow, venue_impact } }: AnswerProps) {
  return (
    <>
      <h3>Course, supply and effect</h3>
      <FigureList
        analysis="depeg"
        rows={[
          figure(
            'Largest, 1 h',
            'trend.max_abs_deviation_bps_1h',
            bps(trend.max_abs_deviation_bps_1h),
          ),
          figure(
            'Largest, 24 h',
            'trend.max_abs_deviation_bps_24h',
            bps(trend.max_abs_deviation_bps_24h),
          ),
          figure('Low, 24 h', 'range_24h.low_usd', `$${plain(range_24h.low_usd, 5)}`),
          figure('High, 24 h', 'range_24h.high_usd', `$${plain(range_24h.high_usd, 5)}`),
          figure('Against its average', 'ema.momentum_bps', signedBps(ema?.momentum_bps)),
          figure('Slope an hour', 'trend.slope_bps_per_hour', signedBps(trend.slope_bps_per_hour)),
          figure(
            'Percentile',
            'history.percentile',
            percentile(history.percentile, history.window_hours),
          ),
          figure('Minutes known', 'history.n', count(history.n)),
          figure('Supply', 'flow.supply_usd', usd(flow?.supply_usd)),
          figure('Supply, 24 h', 'flow.change_24h_pct', signedPercent(flow?.change_24h_pct)),
          figure('Supply, 7 days', 'flow.change_7d_pct', signedPercent(flow?.change_7d_pct)),
          figure(
            'Margin haircut',
            'venue_impact.collateral_haircut_bps',
            bps(venue_impact.collateral_haircut_bps),
          ),
        ]}
      />
    </>
  )
}
