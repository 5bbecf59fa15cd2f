import type { SalesFigures } from '../../../domain/desk-reports.ts'
import { count } from '../../components/format.ts'
import { numbers, Table, words } from '../../components/table.tsx'
import { usdc } from '../desk/amounts.ts'
import { Part } from '../desk/part.tsx'

const AGES = {
  minute: 'up to a minute',
  hour: 'up to an hour',
  day: 'up to a day',
  older: 'older than a day',
} as const

const STATES = {
  settling: 'settlement in progress',
  unknown: 'outcome unknown',
  unconfirmed: 'sent, not final',
  lost: 'lost',
} as const

/** Money that has not arrived, by its age. */
export function UnsettledPart({ unsettled }: Pick<SalesFigures, 'unsettled'>) {
  return (
    <Part
      title="Unsettled and lost"
      note="The service asks the chain about open payments every 5 s. Look at those that are older than a minute."
    >
      <Table
        label="Table: Unsettled and lost payments by age"
        columns={[words('State'), words('Age'), numbers('Payments'), numbers('USDC')]}
        rows={unsettled.map(({ state, age, payments, amountAtomic }) => ({
          key: `${state} ${age}`,
          cells: [
            <span
              key="state"
              class={state === 'lost' ? 'tone-down' : age === 'minute' ? '' : 'tone-warn'}
            >
              {STATES[state]}
            </span>,
            AGES[age],
            count(payments),
            usdc(amountAtomic),
          ],
        }))}
        none="Every payment is settled."
      />
    </Part>
  )
}
