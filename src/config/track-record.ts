import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { count, instantMs, path } from './values.ts'

const settings = {
  candles: setting(
    '--candles <dir>',
    'PERPSCOPE_TRACK_RECORD_CANDLES',
    'folder with coins/<COIN>/{15m,1h,4h}.csv.gz and funding_1h.csv.gz',
  ).argParser(path),
  recording: setting(
    '--recording <file>',
    'PERPSCOPE_TRACK_RECORD_RECORDING',
    'file of perpscope record or of serve --record',
  ).argParser(path),
  fills: setting(
    '--fills <dir>',
    'PERPSCOPE_TRACK_RECORD_FILLS',
    "folder with <YYYYMMDD>/<hour>, plain or .gz, of the venue's node_fills_by_block or node_fills; grades zones by the liquidations in them, with --candles or --recording",
  ).argParser(path),
  claims: setting(
    '--claims <file>',
    'PERPSCOPE_TRACK_RECORD_CLAIMS',
    'claims with their outcomes, one JSON object a line, as --write writes them',
  ).argParser(path),
  cells: setting(
    '--cells <n>',
    'PERPSCOPE_TRACK_RECORD_CELLS',
    'number of watched cells, if the claims are only a part of a record: its watched_cells in /track-record; the evidence that a status needs is 20 x this number',
  ).argParser(count),
  from: setting(
    '--from <time>',
    'PERPSCOPE_TRACK_RECORD_FROM',
    'leave out claims before this instant, ISO 8601; with --candles the engine also starts at it',
  ).argParser(instantMs),
  until: setting(
    '--until <time>',
    'PERPSCOPE_TRACK_RECORD_UNTIL',
    'leave out claims from this instant on, ISO 8601',
  ).argParser(instantMs),
  write: setting(
    '--write <file>',
    'PERPSCOPE_TRACK_RECORD_WRITE',
    'write every claim with its outcome to this file, one JSON object a line',
  ).argParser(path),
  json: flag('--json', 'PERPSCOPE_TRACK_RECORD_JSON', 'print the table as one JSON object'),
}

export type TrackRecordOptions = ValuesOf<typeof settings>

export const trackRecordOptions = optionsOf(settings)
