import type { Option } from 'commander'
import { option, RECORDING_BYTES_MAX } from './option.ts'
import type { ServeOptions } from './serve.ts'
import { serveOptions } from './serve.ts'
import { positive } from './values.ts'

export type RecordOptions = Pick<
  ServeOptions,
  | 'source'
  | 'dataDir'
  | 'weightPerMinute'
  | 'dexes'
  | 'outside'
  | 'sourceUrl'
  | 'pythKey'
  | 'logLevel'
  | 'logFormat'
> & {
  readonly out: string
  readonly maxBytes: number
}

export const recordOptions: readonly Option[] = [
  option('--out <file>', 'PERPSCOPE_RECORD_OUT', 'file to append to').makeOptionMandatory(),
  option('--max-bytes <bytes>', 'PERPSCOPE_RECORD_MAX_BYTES', 'size of the file at which to stop')
    .default(RECORDING_BYTES_MAX)
    .argParser(positive),
  ...asWithServe(
    '--source',
    '--data-dir',
    '--weight-per-minute',
    '--dexes',
    '--outside',
    '--source-url',
    '--pyth-key',
    '--log-format',
  ),
  option('--log-level <level>', 'PERPSCOPE_LOG_LEVEL', 'what is written to standard error')
    .choices(['debug', 'info', 'warn', 'error', 'silent'])
    .default('warn'),
]

/** Options that mean the same as with `serve`. */
function asWithServe(...flags: readonly string[]): readonly Option[] {
  return serveOptions.filter(({ long }) => long !== undefined && flags.includes(long))
}
