import type { ValuesOf } from './option.ts'
import { adminSettings, optionsOf, setting } from './option.ts'

/** Arguments of `perpscope maintenance`. */
export const MAINTENANCE_COMMANDS = ['on', 'off', 'status'] as const

const settings = {
  ...adminSettings,
  ledger: setting(
    '--ledger <url>',
    'PERPSCOPE_LEDGER',
    'PostgreSQL with the ledger of several gateways, such as postgres://user:password@host/database: their mode is ' +
      'there, and no gateway needs to run; prefer the variable, other users can read flags',
  ),
}

export type MaintenanceOptions = ValuesOf<typeof settings>

export const maintenanceOptions = optionsOf(settings)
