import { LiquidationMap } from '../../charts/liquidation-map.tsx'
import { liquidationMarks } from '../../charts/liquidation-marks.ts'
import type { Tone } from '../../components/figure.tsx'
import { FigureList, figure, noted } from '../../components/figure.tsx'
import { percent, plain, price, usd, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { ShareBar } from '../../components/share-bar.tsx'
import { Term, TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

type Liquidations = AnswerOf<'liquidations'>

const levelTones: Readonly<Record<string, Tone>> = { HIGH: 'warn', EXTREME: 'down' }

/** Where positions are liquidated, and the risk that one liquidation causes others. */
export function LiquidationPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<Liquidations>
      title="Liquidations"
      name={documentName('liquidations', coin)}
      width="wide"
    >
      {(answer) => {
        const { cascade_risk, coverage, summary, total_at_risk_usd: atRisk, beyond } = answer
        const { nearest_cluster: nearest } = cascade_risk
        // Without one its price is that of a position that would be opened now.
        const hasNearest = nearest.estimated_notional !== 0
        return (
          <>
            <FigureList
              analysis="liquidations"
              rows={[
                figure(
                  'Cascade risk',
                  'cascade_risk.level',
                  noted(word(cascade_risk.level), plain(cascade_risk.score, 3)),
                  levelTones[cascade_risk.level] ?? 'plain',
                ),
                figure('At risk within 1 %', 'total_at_risk_usd', usd(atRisk.within_1pct)),
                figure('At risk within 2 %', 'total_at_risk_usd', usd(atRisk.within_2pct)),
                figure('At risk within 5 %', 'total_at_risk_usd', usd(atRisk.within_5pct)),
                figure(
                  'Nearest',
                  'cascade_risk.nearest_cluster',
                  hasNearest
                    ? noted(
                        price(nearest.price),
                        `${nearest.side}s, ${percent(nearest.distance_pct)}`,
                      )
                    : 'none on the map',
                ),
                figure('Longs on the map', 'summary.longs_usd', usd(summary.longs_usd)),
                figure('Shorts on the map', 'summary.shorts_usd', usd(summary.shorts_usd)),
                figure(
                  'Known accounts, on the map',
                  'coverage.observed_pct',
                  percent(coverage.observed_pct, 1),
                ),
                figure(
                  'Beyond the map',
                  'coverage.beyond_pct',
                  noted(
                    percent(coverage.beyond_pct, 1),
                    `${usd(beyond.longs.notional_usd)} long, ${usd(beyond.shorts.notional_usd)} short`,
                  ),
                ),
              ]}
            />
            <h3>
              <Term analysis="liquidations" path="clusters">
                Clusters
              </Term>{' '}
              and{' '}
              <Term analysis="liquidations" path="zones.longs[].leverage">
                leverage tiers
              </Term>{' '}
              over price
            </h3>
            <LiquidationMap coin={coin} mark={answer.mark_price} marks={liquidationMarks(answer)} />
            <TermHeading title="Cascade risk" analysis="liquidations" path="cascade_risk.score">
              : its components
            </TermHeading>
            <Components components={cascade_risk.components} />
          </>
        )
      }}
    </Panel>
  )
}

function Components({ components }: Pick<Liquidations['cascade_risk'], 'components'>) {
  const { proximity, size, leverage_skew, volatility } = components
  return (
    <dl class="shares">
      <ShareBar
        label="Proximity"
        analysis="liquidations"
        path="cascade_risk.components.proximity"
        share={proximity}
      />
      <ShareBar
        label="Size"
        analysis="liquidations"
        path="cascade_risk.components.size"
        share={size}
      />
      <ShareBar
        label="Skew"
        analysis="liquidations"
        path="cascade_risk.components.leverage_skew"
        share={leverage_skew}
      />
      <ShareBar
        label="Volatility"
        analysis="liquidations"
        path="cascade_risk.components.volatility"
        share={volatility}
      />
    </dl>
  )
}
