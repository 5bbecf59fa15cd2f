import type { ValuesOf } from './option.ts'
import { optionsOf, shared } from './option.ts'

const settings = { adminPort: shared.adminPort }

export type MaintenanceOptions = ValuesOf<typeof settings>

export const maintenanceOptions = optionsOf(settings)
