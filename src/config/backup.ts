import type { ValuesOf } from './option.ts'
import { flag, optionsOf, shared } from './option.ts'

export type BackupOptions = ValuesOf<ReturnType<typeof settings>>

export const backupOptions = optionsOf(settings('PERPSCOPE_BACKUP_JSON'))
export const restoreOptions = optionsOf(settings('PERPSCOPE_RESTORE_JSON'))

function settings(jsonVariable: string) {
  return {
    ...shared,
    json: flag('--json', jsonVariable, 'print the result as one JSON object on one line'),
  }
}
