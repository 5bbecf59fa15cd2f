import type { Option } from 'commander'
import { option } from './option.ts'
import { instantMs } from './values.ts'

export type ReplayOptions = {
  readonly until?: number
  readonly coin?: string
  readonly analysis: string
  readonly view?: string
  readonly documents?: string
  readonly hash?: true
  readonly json?: true
}

export const replayOptions: readonly Option[] = [
  option(
    '--until <time>',
    'PERPSCOPE_REPLAY_UNTIL',
    'stop behind this instant, ISO 8601 such as 2026-01-31T12:00:00.250Z',
  ).argParser(instantMs),
  option('--coin <ticker>', 'PERPSCOPE_REPLAY_COIN', 'print its last document, and nothing else'),
  option('--analysis <id>', 'PERPSCOPE_REPLAY_ANALYSIS', 'of which analysis').default('pulse'),
  option(
    '--view <value>',
    'PERPSCOPE_REPLAY_VIEW',
    "what a caller asks behind '?', such as 15m,1h for pulse (default: what is sent unasked)",
  ),
  option(
    '--documents <dir>',
    'PERPSCOPE_REPLAY_DOCUMENTS',
    'write the last documents of all coins there, a file for each view',
  ),
  option(
    '--hash',
    'PERPSCOPE_REPLAY_HASH',
    'print the SHA-256 of all documents, and nothing else',
  ).conflicts(['coin', 'json']),
  option('--json', 'PERPSCOPE_REPLAY_JSON', 'print the summary as one JSON object'),
]
