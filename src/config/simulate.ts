import type { Option } from 'commander'
import { option } from './option.ts'
import { integer, port, positive } from './values.ts'

export type SimulateOptions = {
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly startMs?: number
  readonly candles?: string
  readonly recording?: string
  readonly frames?: string
  readonly faults?: string
  readonly world?: string
  readonly past?: string
  readonly weightPerMinute: number
}

export const simulateOptions: readonly Option[] = [
  option('--port <port>', 'PERPSCOPE_SIMULATOR_PORT', 'port of the venue, 0 for any')
    .default(0)
    .argParser(port),
  option('--seed <seed>', 'PERPSCOPE_SEED', 'market to draw').default(1).argParser(integer),
  option('--speed <factor>', 'PERPSCOPE_SPEED', 'how fast simulated time runs')
    .default(1)
    .argParser(positive),
  option(
    '--start-ms <time>',
    'PERPSCOPE_START_MS',
    'simulated time at the start, Unix ms (default: now); with a fixed one and a seed two runs are identical, but a service on the real clock wants the default',
  ).argParser(integer),
  option(
    '--candles <dir>',
    'PERPSCOPE_CANDLES',
    'replay recorded candles (hl-candles-2025-07 layout)',
  ),
  option(
    '--recording <dir>',
    'PERPSCOPE_RECORDING',
    'replay recorded books and trades (hl-l2-trades-2025-09 layout)',
  ),
  option(
    '--frames <file>',
    'PERPSCOPE_FRAMES',
    'replay the books and trades of a file of perpscope record (see docs/recording.md)',
  ).conflicts('recording'),
  option('--faults <file>', 'PERPSCOPE_FAULTS', 'what goes wrong when (see docs/faults.md)'),
  option(
    '--world <file>',
    'PERPSCOPE_WORLD',
    'what happens when beyond the venue: depegs, gaps, dead sources (see docs/simulated-world.md)',
  ),
  option(
    '--past <dir>',
    'PERPSCOPE_PAST',
    'write what a service would have recorded of this market in the last minutes into a --data-dir',
  ),
  option(
    '--weight-per-minute <weight>',
    'PERPSCOPE_SIMULATOR_WEIGHT_PER_MINUTE',
    'REST weight that the simulated venue allows',
  )
    .default(1_200)
    .argParser(positive),
]
