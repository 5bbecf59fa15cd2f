import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { count, instantMs } from './values.ts'

const settings = {
  candles: setting(
    '--candles <dir>',
    'PERPSCOPE_TRACK_RECORD_CANDLES',
    'folder with coins/<COIN>/{15m,1h,4h}.csv.gz and funding_1h.csv.gz',
  ),
  recording: setting(
    '--recording <file>',
    'PERPSCOPE_TRACK_RECORD_RECORDING',
    'file of perpscope record or of serve --record',
  ),
  claims: setting(
    '--claims <file>',
    'PERPSCOPE_TRACK_RECORD_CLAIMS',
    'claims with their outcomes, one JSON object a line, as --write writes them',
  ),
  cells: setting(
    '--cells <n>',
    'PERPSCOPE_TRACK_RECORD_CELLS',
    'watched_cells of /track-record, where the claims are a part of that record: a status needs evidence of 20 x this',
  ).argParser(count),
  from: setting(
    '--from <time>',
    'PERPSCOPE_TRACK_RECORD_FROM',
    'leave out claims before this instant, ISO 8601; the engine starts then with --candles',
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
  ),
  json: flag('--json', 'PERPSCOPE_TRACK_RECORD_JSON', 'print the table as one JSON object'),
}

export type TrackRecordOptions = ValuesOf<typeof settings>

export const trackRecordOptions = optionsOf(settings)
