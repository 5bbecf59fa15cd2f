import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count, duration } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { shortened, usdc } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'

type ChannelsProps = Pick<SalesFigures, 'channels'> & { readonly nowMs: number }

/** Payment channels with what can be claimed of them. */
export function ChannelsPart({ channels, nowMs }: ChannelsProps) {
  if (channels === null)
    return (
      <Part title="Payment channels" width="wide">
        <p class="empty">Payment channels are off (--payment-channels).</p>
      </Part>
    )
  return (
    <Part
      title="Payment channels"
      width="wide"
      note={`${count(channels.open)} channels hold a deposit.`}
    >
      <Table
        label="Table: Channels with the largest claims"
        columns={[
          words('Channel'),
          words('Payer'),
          numbers('Deposit'),
          numbers('Can be claimed'),
          numbers('For'),
        ]}
        rows={channels.largest.map((one) => ({
          key: one.id,
          cells: [
            <code key="id" title={one.id}>
              {shortened(one.id)}
            </code>,
            <code key="payer" title={one.payer}>
              {shortened(one.payer)}
            </code>,
            usdc(one.balanceAtomic),
            usdc(one.claimableAtomic),
            duration(one.sinceMs === null ? null : nowMs - one.sinceMs),
          ],
        }))}
        none="Nothing can be claimed."
      />
    </Part>
  )
}
