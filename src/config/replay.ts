import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { instantMs, path } from './values.ts'

const settings = {
  until: setting(
    '--until <time>',
    'PERPSCOPE_REPLAY_UNTIL',
    'stop after this instant, ISO 8601 such as 2026-01-31T12:00:00.250Z',
  ).argParser(instantMs),
  coin: setting(
    '--coin <ticker>',
    'PERPSCOPE_REPLAY_COIN',
    'print the last document of this coin, and nothing else',
  ),
  analysis: setting(
    '--analysis <id>',
    'PERPSCOPE_REPLAY_ANALYSIS',
    'analysis of the document that --coin prints (default: pulse)',
  ),
  view: setting(
    '--view <value>',
    'PERPSCOPE_REPLAY_VIEW',
    'view of the document, as in the query of a request, such as 15m,1h for pulse (default: the default view)',
  ),
  documents: setting(
    '--documents <dir>',
    'PERPSCOPE_REPLAY_DOCUMENTS',
    'write the last documents of all coins to this directory, one file per view',
  ).argParser(path),
  hash: flag(
    '--hash',
    'PERPSCOPE_REPLAY_HASH',
    'print the SHA-256 of all documents, and nothing else',
  ).conflicts(['coin', 'json']),
  json: flag('--json', 'PERPSCOPE_REPLAY_JSON', 'print the summary as one JSON object'),
}

export type ReplayOptions = ValuesOf<typeof settings>

export const replayOptions = optionsOf(settings)
