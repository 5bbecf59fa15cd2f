import { useSignal } from '@preact/signals'
import type { ControlReport } from '../../../domain/desk-reports.ts'
import { NOTHING } from '../../components/format.ts'
import { sentences, Table, words } from '../../components/table.tsx'
import { Part } from '../desk/part.tsx'

/** Every option with its value and where it was set. */
export function ConfigurationPart({ configuration }: Pick<ControlReport, 'configuration'>) {
  const isAll = useSignal(false)
  const given = configuration.filter(({ origin }) => origin !== 'default')
  const shown = isAll.value ? configuration : given
  return (
    <Part
      title="Configuration"
      width="wide"
      note="Keys and passwords are shown as set; URLs of nodes, facilitators and databases without path, query and user."
    >
      <label class="choice">
        <input
          type="checkbox"
          checked={isAll.value}
          onChange={({ currentTarget }) => {
            isAll.value = currentTarget.checked
          }}
        />{' '}
        Defaults too ({configuration.length - given.length})
      </label>
      <Table
        label="Table: Configuration"
        columns={[words('Option'), sentences('Value'), words('Origin'), words('Variable')]}
        rows={shown.map(({ option, value, origin, place, variable }) => ({
          key: option,
          cells: [
            <code key="option">{option}</code>,
            <code key="value">{value ?? NOTHING}</code>,
            place === null ? origin : <code key="origin">{place}</code>,
            <code key="variable">{variable ?? ''}</code>,
          ],
        }))}
        none="Every option has its default."
      />
    </Part>
  )
}
