import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { NOTHING } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** All digits of a balance, down to a gwei or a lamport, do not fit a phone. */
const amount = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

/** Accounts that pay for settlements. */
export function GasPart({ gas }: Pick<SalesFigures, 'gas'>) {
  return (
    <Part
      title="Gas"
      note="Spent: the sum of the decreases of the balance between readings, since the start of this process."
    >
      <Table
        label="Table: Gas accounts"
        columns={[words('Account'), numbers('Left'), numbers('Spent')]}
        rows={gas.map(({ coin, left, spent }) => ({
          key: coin,
          cells: [
            coin === 'ETH' ? 'Base' : 'Solana',
            left === null ? NOTHING : `${amount.format(left)} ${coin}`,
            `${amount.format(spent)} ${coin}`,
          ],
        }))}
        none="Facilitators pay for the settlements."
      />
    </Part>
  )
}
