import type { ValuesOf } from './option.ts'
import { flag, optionsOf } from './option.ts'

const settings = {
  once: flag('--once', null, 'exit after the purchases'),
  json: flag('--json', null, 'print one JSON report on standard output, and nothing else there'),
  cluster: flag(
    '--cluster',
    null,
    'run two engines and two gateways with Valkey or Redis and PostgreSQL, and end an engine and a gateway between the purchases',
  ),
}

export type DemoOptions = ValuesOf<typeof settings>

export const demoOptions = optionsOf(settings)
