import { Option } from 'commander'
import { port } from './values.ts'

const DEFAULT_ADMIN_PORT = 9402
const DATA_DIR = './data'

/** Size of a file at which recording stops. */
export const RECORDING_BYTES_MAX = 1024 ** 3

/** Every option has a variable of its own; nothing is read from elsewhere. */
export function option(flags: string, variable: string, description: string): Option {
  return new Option(flags, description).env(variable)
}

export type LogOptions = {
  readonly logLevel: string
  readonly logFormat: 'auto' | 'pretty' | 'json'
}

/** Options of several commands, which mean the same everywhere. */
export const shared = {
  dataDir: () =>
    option('--data-dir <dir>', 'PERPSCOPE_DATA_DIR', 'where the databases live').default(DATA_DIR),
  adminPort: () =>
    option('--admin-port <port>', 'PERPSCOPE_ADMIN_PORT', 'admin interface, loopback only')
      .default(DEFAULT_ADMIN_PORT)
      .argParser(port),
  logFormat: () =>
    option(
      '--log-format <format>',
      'PERPSCOPE_LOG_FORMAT',
      'auto writes readable lines on a terminal, and JSON where standard error goes elsewhere',
    )
      .choices(['auto', 'pretty', 'json'])
      .default('auto'),
}
