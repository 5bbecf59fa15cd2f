import type { ValuesOf } from './option.ts'
import { adminSettings, optionsOf } from './option.ts'
import { ledgerSettings } from './payment.ts'

/** Arguments of `perpscope maintenance`. */
export const MAINTENANCE_COMMANDS = ['on', 'off', 'status'] as const

const settings = {
  ...adminSettings,
  // With it no gateway needs to run: the mode of all of them is in PostgreSQL.
  ...ledgerSettings,
}

export type MaintenanceOptions = ValuesOf<typeof settings>

export const maintenanceOptions = optionsOf(settings)
