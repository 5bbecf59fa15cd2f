import { DotPlot, reachOf } from '../../charts/dot-plot.tsx'
import { FigureList, figure, noted } from '../../components/figure.tsx'
import { bps, duration, NOTHING, price, signedBps, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'
import { gapDots } from './gap-dots.ts'

/** Prices of the same coin on exchanges, pools and oracle networks. */
export function GapPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'cex-dex'>>
      title="Prices elsewhere"
      name={documentName('cex-dex', coin)}
      width="wide"
    >
      {(answer) => (
        <>
          <FigureList
            analysis="cex-dex"
            rows={[
              figure(
                'Divergence',
                'divergence_bps',
                noted(signedBps(answer.divergence_bps), noiseWord(answer)),
                answer.actionable ? 'warn' : 'plain',
              ),
              figure('Noise', 'noise_bps', `± ${bps(answer.noise_bps)}`),
              figure('Severity', 'severity', word(answer.severity)),
              figure('Exchange price', 'cex_price', price(answer.cex_price)),
              figure(
                'On-chain price',
                'dex_price',
                noted(price(answer.dex_price), answer.dex_name),
              ),
              figure(
                'Best net of fees',
                'executable.best_net_bps',
                signedBps(answer.executable.best_net_bps),
              ),
              figure('Pool depth, 10 bps', 'depth_usd.dex_10bps', usd(answer.depth_usd.dex_10bps)),
              figure(
                'Lead or lag',
                'lead_lag.lag_seconds',
                lagText(answer.lead_lag?.lag_seconds ?? null),
              ),
            ]}
          />
          <Gaps coin={coin} answer={answer} />
          <Edges edges={answer.executable.edges} />
          <p class="note">{answer.interpretation}</p>
        </>
      )}
    </Panel>
  )
}

/** `actionable` needs more than the noise: the schema states by how much. */
function noiseWord({ divergence_bps, noise_bps, actionable }: AnswerOf<'cex-dex'>): string {
  if (Math.abs(divergence_bps) <= noise_bps) return 'within noise'
  return actionable ? 'beyond noise' : 'barely beyond noise'
}

/** @param seconds negative if the perpetual leads */
function lagText(seconds: number | null): string {
  if (seconds === null) return NOTHING
  if (seconds === 0) return 'none'
  return `perpetual ${seconds > 0 ? 'lags' : 'leads'} by ${duration(Math.abs(seconds) * 1_000)}`
}

type GapsProps = { readonly coin: string; readonly answer: AnswerOf<'cex-dex'> }

/** On one scale, so that both plots can be compared. */
function Gaps({ coin, answer }: GapsProps) {
  const { books, chains } = gapDots(answer)
  const scale = {
    band: answer.noise_bps,
    reach: reachOf([...books, ...chains], answer.noise_bps),
    format: signedBps,
  }
  return (
    <div class="split">
      <div>
        <TermHeading title="Exchanges" analysis="cex-dex" path="exchanges.venues">
          {' '}
          and the perpetual, distance from the exchange price
        </TermHeading>
        <DotPlot label={`Prices of ${coin} on exchanges`} dots={books} {...scale} />
      </div>
      <div>
        <TermHeading title="Pools" analysis="cex-dex" path="onchain">
          {' '}
          and oracle networks, with expected error
        </TermHeading>
        <DotPlot label={`Prices of ${coin} on chains`} dots={chains} {...scale} />
      </div>
    </div>
  )
}

type EdgesProps = { readonly edges: AnswerOf<'cex-dex'>['executable']['edges'] }

function Edges({ edges }: EdgesProps) {
  return (
    <>
      <TermHeading title="Ways to trade the gap" analysis="cex-dex" path="executable" />
      <Table
        label="Ways to trade the gap"
        analysis="cex-dex"
        columns={[
          { title: 'Buy, then sell' },
          { title: 'Gross', path: 'executable.edges[].gross_bps' },
          { title: 'Fees', path: 'executable.edges[].fee_bps' },
          { title: 'Net', path: 'executable.edges[].net_bps' },
        ]}
        rows={edges.map(({ buy, sell, gross_bps, fee_bps, net_bps }) => ({
          key: `${buy} ${sell}`,
          cells: [
            `${word(buy)} → ${word(sell)}`,
            ...[signedBps(gross_bps), bps(fee_bps), signedBps(net_bps)],
          ],
        }))}
      />
    </>
  )
}
