import { DotPlot, reachOf } from '../../charts/dot-plot.tsx'
import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import { Figure, Figures } from '../../components/figure.tsx'
import { bps, duration, price, signedBps, signedPercent, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Percentile } from '../../components/percentile.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { documentName } from './coin-documents.ts'

const HOUR_MS = 3_600_000

type Basis = AnswerOf<'basis'>['basis']

/** How far the venue's prices are from independent oracle networks, and what of it is noise. */
export function BasisPanel({ coin }: { readonly coin: string }) {
  return (
    <Panel<AnswerOf<'basis'>> title="Basis" name={documentName('basis', coin)}>
      {({ basis }, instant) => (
        <>
          <Figures>
            <Figure
              label="Basis"
              analysis="basis"
              path="basis.basis_bps"
              tone={basis.significant ? 'warn' : 'plain'}
            >
              {signedBps(basis.basis_bps)} <small>{noiseWord(basis)}</small>
            </Figure>
            <Figure label="Noise band" analysis="basis" path="basis.band.total_bps">
              ± {bps(basis.band.total_bps)}
            </Figure>
            <Figure label="Premium of the mark" analysis="basis" path="basis.perp_premium_bps">
              {signedBps(basis.perp_premium_bps)}
            </Figure>
            <Figure label="Mark against spot" analysis="basis" path="basis.total_basis_bps">
              {signedBps(basis.total_basis_bps)}
            </Figure>
            <Figure label="Spot price" analysis="basis" path="basis.spot_price">
              {price(basis.spot_price)} <small>{basis.source}</small>
            </Figure>
            <Figure label="Percentile" analysis="basis" path="basis.percentile_7d">
              <Percentile
                value={basis.percentile_7d}
                among={duration(basis.percentile_window_hours * HOUR_MS)}
              />
            </Figure>
            <Figure
              label="Implied funding p.a."
              analysis="basis"
              path="basis.premium_funding_apr_pct"
            >
              {signedPercent(basis.premium_funding_apr_pct)}
            </Figure>
            <Figure label="Regime" analysis="basis" path="basis.regime">
              {word(basis.regime)}
            </Figure>
          </Figures>
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
    <ScrollRegion label="Oracle networks">
      <table>
        <TableHead
          analysis="basis"
          columns={[
            { title: 'Network' },
            { title: 'Price', path: 'basis.oracle_networks[].price' },
            { title: 'Age', path: 'basis.oracle_networks[].age_seconds' },
            { title: 'Used', path: 'basis.oracle_networks[].why_not', kind: 'text' },
          ]}
        />
        <tbody>
          {networks.map(({ network, place, price: at, age_seconds, why_not }) => (
            <tr key={`${network} ${place}`}>
              <th scope="row">
                {network}
                {place !== '' && <small> {place}</small>}
              </th>
              <td>{price(at)}</td>
              <td>
                <Age seconds={age_seconds} instant={instant} />
              </td>
              <td class="text">{why_not === null ? 'yes' : `no, ${word(why_not)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** Of the present basis; what is significant may be the mean of the hour. */
function noiseWord({ basis_bps, band, significant, significant_basis_bps }: Basis): string {
  const word = Math.abs(basis_bps) > band.total_bps ? 'beyond noise' : 'within noise'
  const isOfHour = significant && significant_basis_bps !== basis_bps
  return isOfHour ? `${word}, mean of the hour beyond` : word
}
