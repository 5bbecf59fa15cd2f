import type { ValuesOf } from './option.ts'
import { flag, optionsOf } from './option.ts'
import { serveSettings } from './serve.ts'

/** The options of `perpscope config`, which shows those of `serve`. */
const settings = { ...serveSettings, json: flag('--json', null, 'print one JSON object') }

export type ConfigurationOptions = ValuesOf<typeof settings>

export const configurationOptions = optionsOf(settings)
