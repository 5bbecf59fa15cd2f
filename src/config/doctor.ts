import type { ValuesOf } from './option.ts'
import { flag, optionsOf } from './option.ts'
import { serveSettings } from './serve.ts'

/** The options of `serve`, so that the checks apply to what would run. */
const settings = { ...serveSettings, json: flag('--json', null, 'print one JSON report') }

export type DoctorOptions = ValuesOf<typeof settings>

export const doctorOptions = optionsOf(settings)
