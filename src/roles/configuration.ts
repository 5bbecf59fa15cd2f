import Table from 'cli-table3'
import { checkServeOptions } from '../config/check-serve.ts'
import type { ConfigurationOptions } from '../config/configuration.ts'
import type { EffectiveConfiguration } from '../config/effective.ts'
import type { ConfigurationEntry } from '../domain/desk-reports.ts'
import type { Terminal } from './doctor/report.ts'

const NOT_SET = '-'
const VALUE_COLUMNS_MIN = 24

/**
 * `perpscope config`: every option of `serve` with its value and origin. Secrets are shown as set.
 * @throws ConfigError after that, if the options do not fit together
 */
export function printConfiguration(
  options: ConfigurationOptions,
  { entries }: EffectiveConfiguration,
  terminal: Terminal,
  write: (text: string) => void,
): void {
  write(
    options.json
      ? `${JSON.stringify({ configuration: entries }, null, 2)}\n`
      : rendered(entries, terminal),
  )
  checkServeOptions(options)
}

/** A table on a terminal, otherwise one line per option with tabs. */
function rendered(entries: readonly ConfigurationEntry[], { columns, hasColor }: Terminal): string {
  const rows = entries.map((entry) => [entry.option, entry.value ?? NOT_SET, originOf(entry)])
  if (columns === null) return rows.map((row) => `${row.join('\t')}\n`).join('')
  const widest = (column: number) => 2 + Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const [optionColumns, originColumns] = [widest(0), Math.min(widest(2), Math.floor(columns / 3))]
  const table = new Table({
    head: ['option', 'value', 'origin'],
    style: { ...(hasColor ? {} : { head: [], border: [] }), compact: true },
    colWidths: [
      optionColumns,
      Math.max(VALUE_COLUMNS_MIN, columns - optionColumns - originColumns - 4),
      originColumns,
    ],
    wordWrap: true,
    wrapOnWordBoundary: false,
  })
  for (const row of rows) table.push(row)
  return `${table.toString()}\n`
}

function originOf({ origin, place, variable }: ConfigurationEntry): string {
  return place ?? (origin === 'variable' && variable !== null ? variable : origin)
}
