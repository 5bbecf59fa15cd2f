import type { Option } from 'commander'
import { option, shared } from './option.ts'

export type BackupOptions = {
  readonly dataDir: string
  readonly json?: true
}

export const backupOptions: readonly Option[] = [
  shared.dataDir(),
  option('--json', 'PERPSCOPE_BACKUP_JSON', 'print one JSON object on one line'),
]

export const restoreOptions: readonly Option[] = [
  shared.dataDir(),
  option('--json', 'PERPSCOPE_RESTORE_JSON', 'print one JSON object on one line'),
]
