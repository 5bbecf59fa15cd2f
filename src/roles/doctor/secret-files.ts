import { statSync } from 'node:fs'
import type { SettingFile } from '../../config/settings-command.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { ok, warn } from './finding.ts'

const OTHERS_READ = 0o004
/** Container engines and init systems mount them for one service, with modes of their own. */
const MOUNTED = /^\/run\/(secrets|credentials)\//

/**
 * Whether other users can read a file with a secret: one of a key, of the admin token, or a configuration file with a key.
 * null without such files, and on Windows, whose modes mean nothing.
 */
export function checkSecretFiles(
  files: readonly SettingFile[],
  adminTokenFile: string | undefined,
  platform: NodeJS.Platform = process.platform,
): DoctorFinding | null {
  const paths = files.filter(({ hasSecret }) => hasSecret).map(({ path }) => path)
  if (adminTokenFile !== undefined) paths.push(adminTokenFile)
  if (paths.length === 0 || platform === 'win32') return null
  const check = 'secret files'
  const open = paths.filter(
    (path) => !MOUNTED.test(path) && (statSync(path).mode & OTHERS_READ) !== 0,
  )
  if (open.length === 0) return ok(check, `${paths.join(', ')}: not readable by other users`)
  return warn(check, `every user can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)
}
