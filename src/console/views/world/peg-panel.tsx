import type { AnswerInstant } from '../../components/age.tsx'
import { Since } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import { Figure, Figures } from '../../components/figure.tsx'
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
import { Percentile } from '../../components/percentile.tsx'
import { TableHead } from '../../components/table-head.tsx'
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
  const { usdc, level_name, level_since_iso, health_score, agreement, infrastructure } = answer
  return (
    <Figures>
      <Figure analysis="depeg" path="usdc.price_usd" label="Price">
        ${plain(usdc.price_usd, 6)}
      </Figure>
      <Figure analysis="depeg" path="usdc.signed_deviation_bps" label="Deviation">
        {signedBps(usdc.signed_deviation_bps)}
      </Figure>
      <Figure
        analysis="depeg"
        path="level"
        label="Level"
        tone={answer.level === 0 ? 'up' : answer.level > 2 ? 'down' : 'warn'}
      >
        {word(level_name)}
      </Figure>
      <Figure analysis="depeg" path="level_since_iso" label="For">
        <Since iso={level_since_iso} instant={instant} />
      </Figure>
      <Figure analysis="depeg" path="usdc.peg_status" label="Status">
        {word(usdc.peg_status)}
      </Figure>
      <Figure analysis="depeg" path="health_score" label="Health">
        {plain(health_score, 0)} of 100
      </Figure>
      <Figure analysis="depeg" path="agreement.agreeing" label="Classes that agree">
        {agreement.agreeing} of {agreement.classes}
      </Figure>
      <Figure analysis="depeg" path="agreement.dispersion_bps" label="Dispersion">
        {bps(agreement.dispersion_bps)}
      </Figure>
      <Figure analysis="depeg" path="infrastructure.oracle_status" label="Oracles">
        {word(infrastructure.oracle_status)}
      </Figure>
      <Figure analysis="depeg" path="infrastructure.feeds_active" label="Feeds within 300 s">
        {infrastructure.feeds_active} of {infrastructure.feeds_total}
      </Figure>
    </Figures>
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
    { fromBps: 10, seconds: of.below_10_bps_seconds },
    { fromBps: 25, seconds: of.below_25_bps_seconds },
    { fromBps: 50, seconds: of.below_50_bps_seconds },
    { fromBps: 100, seconds: of.below_100_bps_seconds },
  ]
  return (
    <div>
      <TermHeading title="Duration" analysis="depeg" path="duration" />
      <table>
        <TableHead columns={[{ title: 'Deviation from' }, { title: 'For' }]} />
        <tbody>
          {spells.map(({ fromBps, seconds }) => (
            <tr key={fromBps}>
              <th scope="row">{fromBps} bps</th>
              <td>{seconds === 0 ? 'not reached' : duration(1_000 * seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
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
      <table class="bars">
        <tbody>
          {chains.map(({ chain, usdc_usdt_bps: premium }) => (
            <tr key={chain}>
              <th scope="row">{chain}</th>
              <td>
                <SignedBar share={premium / CROSS_CHAIN_BPS_MAX} />
              </td>
              <td>{signedBps(premium, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Course({ answer: { trend, range_24h, history, ema, flow, venue_impact } }: AnswerProps) {
  return (
    <>
      <h3>Course, supply and effect</h3>
      <Figures>
        <Figure analysis="depeg" path="trend.max_abs_deviation_bps_1h" label="Largest, 1 h">
          {bps(trend.max_abs_deviation_bps_1h)}
        </Figure>
        <Figure analysis="depeg" path="trend.max_abs_deviation_bps_24h" label="Largest, 24 h">
          {bps(trend.max_abs_deviation_bps_24h)}
        </Figure>
        <Figure analysis="depeg" path="range_24h.low_usd" label="Low, 24 h">
          ${plain(range_24h.low_usd, 5)}
        </Figure>
        <Figure analysis="depeg" path="range_24h.high_usd" label="High, 24 h">
          ${plain(range_24h.high_usd, 5)}
        </Figure>
        <Figure analysis="depeg" path="ema.momentum_bps" label="Against its average">
          {signedBps(ema?.momentum_bps)}
        </Figure>
        <Figure analysis="depeg" path="trend.slope_bps_per_hour" label="Slope an hour">
          {signedBps(trend.slope_bps_per_hour)}
        </Figure>
        <Figure analysis="depeg" path="history.percentile" label="Percentile">
          <Percentile
            value={history.percentile}
            among={duration(history.window_hours * 3_600_000)}
          />
        </Figure>
        <Figure analysis="depeg" path="history.n" label="Minutes known">
          {count(history.n)}
        </Figure>
        <Figure analysis="depeg" path="flow.supply_usd" label="Supply">
          {usd(flow?.supply_usd)}
        </Figure>
        <Figure analysis="depeg" path="flow.change_24h_pct" label="Supply, 24 h">
          {signedPercent(flow?.change_24h_pct)}
        </Figure>
        <Figure analysis="depeg" path="flow.change_7d_pct" label="Supply, 7 days">
          {signedPercent(flow?.change_7d_pct)}
        </Figure>
        <Figure analysis="depeg" path="venue_impact.collateral_haircut_bps" label="Margin haircut">
          {bps(venue_impact.collateral_haircut_bps)}
        </Figure>
      </Figures>
    </>
  )
}
