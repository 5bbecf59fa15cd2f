import type { Option } from 'commander'
import { option, shared } from './option.ts'
import { dayOrInstantMs } from './values.ts'

export type LedgerOptions = {
  readonly dataDir: string
  readonly since?: number
  readonly until?: number
  readonly csv?: string
  readonly json?: true
}

export const ledgerOptions: readonly Option[] = [
  shared.dataDir(),
  option(
    '--since <time>',
    'PERPSCOPE_LEDGER_SINCE',
    'leave out what was sold before this day or instant, such as 2026-01-31',
  ).argParser(dayOrInstantMs),
  option(
    '--until <time>',
    'PERPSCOPE_LEDGER_UNTIL',
    'leave out what was sold from this day or instant on',
  ).argParser(dayOrInstantMs),
  option('--csv <file>', 'PERPSCOPE_LEDGER_CSV', 'write every payment there as well'),
  option('--json', 'PERPSCOPE_LEDGER_JSON', 'print the sums as one JSON object'),
]
