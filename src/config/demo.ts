import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { count } from './values.ts'

const settings = {
  once: flag('--once', null, 'exit after the purchases'),
  json: flag('--json', null, 'print one JSON report on standard output, and nothing else there'),
  coins: setting(
    '--coins <count>',
    null,
    'number of coins of the simulated market; at least 2, for correlation (default: all)',
  ).argParser(count),
  cluster: flag(
    '--cluster',
    null,
    'run two engines and two gateways with Valkey or Redis and PostgreSQL, and end an engine and a gateway between the purchases',
  ),
}

export type DemoOptions = ValuesOf<typeof settings>

export const demoOptions = optionsOf(settings)
