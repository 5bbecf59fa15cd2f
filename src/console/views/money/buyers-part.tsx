import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { shortened, usdc } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'

/** The wallets that paid most. */
export function BuyersPart({ buyers: { count: all, largest } }: Pick<SalesFigures, 'buyers'>) {
  return (
    <Part title="Buyers" note={`${count(all)} wallets paid in seven days; these paid most.`}>
      <Table
        label="Table: Largest buyers"
        columns={[words('Wallet'), numbers('Sales'), numbers('USDC')]}
        rows={largest.map(({ payer, payments, amountAtomic }) => ({
          key: payer,
          cells: [
            <code key="payer" title={payer}>
              {shortened(payer)}
            </code>,
            count(payments),
            usdc(amountAtomic),
          ],
        }))}
        none="Nobody has bought in these days."
      />
    </Part>
  )
}
