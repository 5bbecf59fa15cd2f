import { adminSettings, optionsOf } from './option.ts'

export const maintenanceOptions = optionsOf(adminSettings)
