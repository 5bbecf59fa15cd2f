import type { MoneyReport, SalesFigures } from '../../../domain/desk-reports.ts'
import { FigureList, fact } from '../../components/figure.tsx'
import { count } from '../../components/format.ts'
import { sumOf, usdc } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'
import { ReportView } from '../desk/report.tsx'
import { BuyersPart } from './buyers-part.tsx'
import { ChannelsPart } from './channels-part.tsx'
import { EarningsPart } from './earnings-part.tsx'
import { FunnelPart } from './funnel-part.tsx'
import { GasPart } from './gas-part.tsx'
import { RefusalsPart } from './refusals-part.tsx'
import { UnsettledPart } from './unsettled-part.tsx'

/** What the service earns. */
export function Money() {
  return (
    <ReportView<MoneyReport> title="Money" name="/desk/money" oldAfterMs={30_000}>
      {({ sales, reason, nowMs }) =>
        sales === null ? (
          <p class="empty panel panel-wide">{reason}</p>
        ) : (
          <>
            <Overview sales={sales} nowMs={nowMs} />
            <EarningsPart earnings={sales.earnings} sinceMs={sales.sinceMs} />
            <FunnelPart funnel={sales.funnel} />
            <RefusalsPart refusals={sales.refusals} />
            <BuyersPart buyers={sales.buyers} />
            <UnsettledPart unsettled={sales.unsettled} />
            <GasPart gas={sales.gas} />
            <ChannelsPart channels={sales.channels} nowMs={nowMs} />
          </>
        )
      }
    </ReportView>
  )
}

type OverviewProps = { readonly sales: SalesFigures; readonly nowMs: number }

function Overview({ sales: { earnings, unsettled, buyers, channels }, nowMs }: OverviewProps) {
  const today = new Date(nowMs).toISOString().slice(0, 10)
  const lost = unsettled.filter(({ state }) => state === 'lost')
  const open = unsettled.filter(({ state }) => state !== 'lost')
  return (
    <Part title="Seven days" width="wide" note="Days are in UTC. Sums are in USDC.">
      <FigureList
        rows={[
          fact('Earned', usdc(sumOf(earnings))),
          fact('Earned today', usdc(sumOf(earnings.filter(({ day }) => day === today)))),
          fact('Sales', count(earnings.reduce((sum, { payments }) => sum + payments, 0))),
          fact('Buyers', count(buyers.count)),
          fact('Unsettled', usdc(sumOf(open)), open.length === 0 ? 'plain' : 'warn'),
          fact('Lost', usdc(sumOf(lost)), lost.length === 0 ? 'plain' : 'down'),
          channels !== null && fact('Can be claimed', usdc(channels.claimableAtomic)),
        ]}
      />
    </Part>
  )
}
