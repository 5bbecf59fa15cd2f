import type { ValuesOf } from './option.ts'
import { optionsOf, setting } from './option.ts'
import { count, integer, path, port, positive } from './values.ts'

const settings = {
  port: setting('--port <port>', 'PERPSCOPE_SIMULATOR_PORT', 'port of the venue, 0 for any')
    .argParser(port)
    .default(0),
  seed: setting('--seed <seed>', 'PERPSCOPE_SEED', 'seed of the random market')
    .argParser(integer)
    .default(1),
  speed: setting('--speed <factor>', 'PERPSCOPE_SPEED', 'simulated seconds per real second')
    .argParser(positive)
    .default(1),
  startMs: setting(
    '--start-ms <time>',
    'PERPSCOPE_START_MS',
    'simulated time at the start, Unix ms; with a fixed time and seed two runs are identical, but a service with the real clock needs the default (default: now)',
  ).argParser(integer),
  coins: setting(
    '--coins <count>',
    'PERPSCOPE_SIMULATOR_COINS',
    'number of coins, the first ones of the list (default: all)',
  )
    .argParser(count)
    .conflicts('candles'),
  candles: setting(
    '--candles <dir>',
    'PERPSCOPE_CANDLES',
    'replay recorded candles: coins/<COIN>/{15m,1h,4h}.csv.gz in this directory',
  ).argParser(path),
  recording: setting(
    '--recording <dir>',
    'PERPSCOPE_RECORDING',
    'replay recorded books and trades: orderbooks_<COIN>.csv.gz and trades_<COIN>.csv.gz in this directory',
  ).argParser(path),
  frames: setting(
    '--frames <file>',
    'PERPSCOPE_FRAMES',
    'replay the books and trades of a file of perpscope record (docs/recording.md)',
  )
    .argParser(path)
    .conflicts('recording'),
  faults: setting(
    '--faults <file>',
    'PERPSCOPE_FAULTS',
    'script of faults (docs/faults.md)',
  ).argParser(path),
  world: setting(
    '--world <file>',
    'PERPSCOPE_WORLD',
    'script of external events: depegs, price gaps, failing sources (docs/simulated-world.md)',
  ).argParser(path),
  chain: setting(
    '--chain <dir>',
    'PERPSCOPE_SIMULATOR_CHAIN',
    'start a local Base as well, and write the keys gas.key and wallet.key of funded accounts to this directory; the first line names both',
  ).argParser(path),
  past: setting(
    '--past <dir>',
    'PERPSCOPE_PAST',
    'write the open interest of the last day to history.db in this directory, so that a new service reports its changes and rank from the start',
  ).argParser(path),
  weightPerMinute: setting(
    '--weight-per-minute <weight>',
    'PERPSCOPE_SIMULATOR_WEIGHT_PER_MINUTE',
    'REST weight per minute that the simulated venue allows',
  )
    .argParser(positive)
    .default(1_200),
  engines: setting(
    '--engines <count>',
    'PERPSCOPE_SIMULATOR_ENGINES',
    'number of engines on this machine: the simulated venue allows them connections and subscriptions as if each had an address of its own',
  )
    .argParser(count)
    .default(1),
}

export type SimulateOptions = ValuesOf<typeof settings>

export const simulateOptions = optionsOf(settings)
