import { marketSourceSettings } from './market-source.ts'
import type { ValuesOf } from './option.ts'
import {
  historySettings,
  logSettings,
  optionsOf,
  RECORDING_BYTES_MAX,
  setting,
  shared,
} from './option.ts'
import { path, positive } from './values.ts'

const settings = {
  out: setting('--out <file>', 'PERPSCOPE_RECORD_OUT', 'file to append to')
    .argParser(path)
    .makeOptionMandatory(),
  maxBytes: setting(
    '--max-bytes <bytes>',
    'PERPSCOPE_RECORD_MAX_BYTES',
    'file size at which recording stops',
  )
    .number(positive)
    .default(RECORDING_BYTES_MAX),
  ...shared,
  ...marketSourceSettings,
  ...historySettings,
  ...logSettings('warn'),
}

export type RecordOptions = ValuesOf<typeof settings>

export const recordOptions = optionsOf(settings)
