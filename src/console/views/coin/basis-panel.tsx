import { DotPlot, reachOf } from '../../charts/dot-plot.tsx'
import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import { FigureList, figure, noted } from '../../components/figure.tsx'
import { bps, price, signedBps, signedPercent, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { percentile } from '../../components/percentile.tsx'
import { Table } from '../../components/table.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

type Basis = AnswerOf<'basis'>['basis']

/** How far the venue's prices are from independent oracle networks, and what of it is noise. */
export function BasisPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'basis'>> title="Basis" name={documentName('basis', coin)}>
      {({ basis }, instant) => (
        <>
          <FigureList
            analysis="basis"
            rows={[
              figure(
                'Basis',
                'basis.basis_bps',
                noted(signedBps(basis.basis_bps), noiseWord(basis)),
                basis.significant ? 'warn' : 'plain',
              ),
              figure('Noise band', 'basis.band.total_bps', `± ${bps(basis.band.total_bps)}`),
              figure(
                'Premium of the mark',
                'basis.perp_premium_bps',
                signedBps(basis.perp_premium_bps),
              ),
              figure(
                'Mark against spot',
                'basis.total_basis_bps',
                signedBps(basis.total_basis_bps),
              ),
              figure(
                'Spot price',
                'basis.spot_price',
                noted(price(basis.spot_price), basis.source),
              ),
              figure(
                'Percentile',
                'basis.percentile_7d',
                percentile(basis.percentile_7d, basis.percentile_window_hours),
              ),
              figure(
                'Implied funding p.a.',
                'basis.premium_funding_apr_pct',
                signedPercent(basis.premium_funding_apr_pct),
              ),
              figure('Regime', 'basis.regime', word(basis.regime)),
            ]}
          />
          <h3>
            <Term analysis="basis" path="basis.oracle_networks[].basis_bps">
              Basis by oracle network
            </Term>
            , with the{' '}
            <Term analysis="basis" path="basis.oracle_networks[].expected_error_bps">
              expected error
            </Term>
          </h3>
          <NetworkDots coin={coin} basis={basis} />
          <Networks networks={basis.oracle_networks} instant={instant} />
          <p class="note">{basis.interpretation}</p>
        </>
      )}
    </Panel>
  )
}

function NetworkDots({ coin, basis }: { readonly coin: string; readonly basis: Basis }) {
  const band = basis.band.total_bps
  const dots = basis.oracle_networks.map((network) => ({
    name: network.place === '' ? network.network : `${network.network}, ${network.place}`,
    value: network.basis_bps,
    error: network.expected_error_bps,
    isUsed: network.is_used,
  }))
  return (
    <DotPlot
      label={`Basis of ${coin} by oracle network`}
      {...{ dots, band, reach: reachOf(dots, band), format: signedBps }}
    />
  )
}

type NetworksProps = {
  readonly networks: Basis['oracle_networks']
  readonly instant: AnswerInstant
}

function Networks({ networks, instant }: NetworksProps) {
  return (
    <Table
      label="Oracle networks"
      analysis="basis"
      columns={[
        { title: 'Network' },
        { title: 'Price', path: 'basis.oracle_networks[].price' },
        { title: 'Age', path: 'basis.oracle_networks[].age_seconds' },
        { title: 'Used', path: 'basis.oracle_networks[].why_not', kind: 'text' },
      ]}
      rows={networks.map(({ network, place, price: at, age_seconds, why_not }) => ({
        key: `${network} ${place}`,
        cells: [
          place === '' ? network : noted(network, place),
          price(at),
          <Age key="age" seconds={age_seconds} instant={instant} />,
          why_not === null ? 'yes' : `no, ${word(why_not)}`,
        ],
      }))}
    />
  )
}

/** Of the present basis; what is significant may be the mean of the hour. */
function noiseWord({ basis_bps, band, significant, significant_basis_bps }: Basis): string {
  const word = Math.abs(basis_bps) > band.total_bps ? 'beyond noise' : 'within noise'
  const isOfHour = significant && significant_basis_bps !== basis_bps
  return isOfHour ? `${word}, mean of the hour beyond` : word
}
