import type { ValuesOf } from './option.ts'
import { adminSettings, optionsOf, shared } from './option.ts'
import { ledgerSettings } from './payment.ts'

/** Arguments of `perpscope maintenance`. */
export const MAINTENANCE_COMMANDS = ['on', 'off', 'status'] as const

const settings = {
  config: shared.config,
  ...adminSettings,
  // With it no gateway needs to run: the mode of all of them is in PostgreSQL.
  ...ledgerSettings,
}

export type MaintenanceOptions = ValuesOf<typeof settings>

export const maintenanceOptions = optionsOf(settings)
