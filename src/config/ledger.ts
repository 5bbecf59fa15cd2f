import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting, shared } from './option.ts'
import { ledgerSettings } from './payment.ts'
import { dayOrInstantMs } from './values.ts'

const settings = {
  dataDir: shared.dataDir,
  ...ledgerSettings,
  to: setting(
    '--to <url>',
    'PERPSCOPE_LEDGER_TO',
    'with move: the database that ledger.db is copied into; prefer the variable for a URL with a password',
  ),
  since: setting(
    '--since <time>',
    'PERPSCOPE_LEDGER_SINCE',
    'only sales from this day or instant on, such as 2026-01-31',
  ).argParser(dayOrInstantMs),
  until: setting(
    '--until <time>',
    'PERPSCOPE_LEDGER_UNTIL',
    'only sales before this day or instant',
  ).argParser(dayOrInstantMs),
  csv: setting('--csv <file>', 'PERPSCOPE_LEDGER_CSV', 'also write every payment to this file'),
  json: flag('--json', 'PERPSCOPE_LEDGER_JSON', 'print the sums as one JSON object'),
}

export type LedgerOptions = ValuesOf<typeof settings>

export const ledgerOptions = optionsOf(settings)
