import { InvalidArgumentError } from 'commander'
import type { ReportDimension } from '../payment/ledger/ledger-books.ts'
import { reportDimensions } from '../payment/ledger/ledger-books.ts'
import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting, shared } from './option.ts'
import { ledgerSettings, payeeSettings } from './payment.ts'
import { EXIT_UNAVAILABLE } from './usage.ts'
import { dayOrInstantMs, listOf, path, trimmed, usdcAtomic } from './values.ts'

const bookSettings = {
  ...shared,
  ...ledgerSettings,
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
  by: setting(
    '--by <list>',
    'PERPSCOPE_LEDGER_BY',
    `group the sums by these, and always by state: ${reportDimensions.join(', ')} (default: day,analysis,network)`,
  ).argParser((text): readonly ReportDimension[] => listOf(reportDimensions, text)),
  ethUsd: setting(
    '--eth-usd <usd>',
    'PERPSCOPE_LEDGER_ETH_USD',
    'price of ETH, for the net sum of Base (default: none, fees stay in ETH)',
  ).argParser(price),
  solUsd: setting(
    '--sol-usd <usd>',
    'PERPSCOPE_LEDGER_SOL_USD',
    'price of SOL, for the net sum of Solana (default: none, fees stay in SOL)',
  ).argParser(price),
  csv: setting(
    '--csv <file>',
    'PERPSCOPE_LEDGER_CSV',
    'also write the rows to this CSV file: all payments; with reconcile the differences, with refunds the refunds',
  ).argParser(path),
  json: flag('--json', 'PERPSCOPE_LEDGER_JSON', 'print the result as one JSON object'),
}

const settings = {
  ...bookSettings,
  ...payeeSettings,
  to: setting(
    '--to <url>',
    'PERPSCOPE_LEDGER_TO',
    'with move: the database that ledger.db and channels.db are copied into; prefer the variable for a URL with a password',
  )
    .argParser(trimmed)
    .masked('url'),
}

export const LEDGER_ACTIONS = ['reconcile', 'refunds', 'move'] as const

export const LEDGER_HELP = `
reconcile exits with 0 if ledger and chain are equal in all final blocks (result incomplete: some payments are not final
yet), 1 if they differ, ${EXIT_UNAVAILABLE} if a node does not answer.`

/** The ledger, a period and the form of the result. */
export type BookOptions = ValuesOf<typeof bookSettings>

export type LedgerOptions = ValuesOf<typeof settings>

function price(text: string): bigint {
  const atomic = usdcAtomic(text)
  if (atomic === 0n) throw new InvalidArgumentError('not above zero')
  return atomic
}

export const ledgerOptions = optionsOf(settings)
