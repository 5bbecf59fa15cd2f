import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatingError } from '../domain/errors.ts'
import { parsedJson } from '../domain/json.ts'

export type BackupFile = {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  /** null if the file is not a database. */
  readonly schema_version: number | null
}

/** A folder with this file is a backup. It is written last, after all other files are on the disk. */
export type BackupManifest = {
  readonly format: number
  /** Version that wrote the backup. */
  readonly perpscope: string
  /** Time of the copy of the ledger. Later payments are missing. */
  readonly ledger_at: string
  readonly created_at: string
  readonly data_dir: string
  /** In the order in which they were copied. */
  readonly files: readonly BackupFile[]
}

export const MANIFEST_NAME = 'perpscope-backup.json'
export const MANIFEST_FORMAT = 1

/** null if the folder is not a backup. @throws OperatingError if its manifest cannot be read, is damaged or of a later format */
export function manifestIn(folder: string): BackupManifest | null {
  const path = join(folder, MANIFEST_NAME)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && /^(ENOENT|ENOTDIR)$/.test(String(cause.code)))
      return null
    throw new OperatingError('backup_unreadable', `${path} cannot be read`, { cause })
  }
  const manifest = parsedJson(text) as Partial<BackupManifest> | null | undefined
  // Before its members, which another format may have changed.
  if (Number(manifest?.format) > MANIFEST_FORMAT)
    throw new OperatingError(
      'backup_newer',
      `${folder} was made by perpscope ${manifest?.perpscope}, in a format that this version does not know`,
    )
  if (!isManifest(manifest)) throw new OperatingError('backup_damaged', `${path} is damaged`)
  return manifest
}

/** Size and hash of a file, read from the disk. */
export async function fingerprintOf(path: string): Promise<Pick<BackupFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** @throws OperatingError naming the file that is not what was backed up */
export async function checkFingerprint(path: string, expected: BackupFile): Promise<void> {
  const { bytes, sha256 } = await fingerprintOf(path).catch((cause: unknown) => {
    throw new OperatingError('backup_damaged', `${path} cannot be read`, { cause })
  })
  if (bytes === expected.bytes && sha256 === expected.sha256) return
  throw new OperatingError(
    'backup_damaged',
    `${path} is not what was backed up: ${bytes} bytes, SHA-256 ${sha256}`,
  )
}

function isManifest(
  manifest: Partial<BackupManifest> | null | undefined,
): manifest is BackupManifest {
  const { format, files, ledger_at } = manifest ?? {}
  return (
    format === MANIFEST_FORMAT &&
    typeof ledger_at === 'string' &&
    Array.isArray(files) &&
    files.length > 0 &&
    files.every(isFile)
  )
}

function isFile(file: Partial<BackupFile> | null): boolean {
  const { name, bytes, sha256 } = file ?? {}
  return isPlainName(name) && Number.isSafeInteger(bytes) && typeof sha256 === 'string'
}

/** Name of a file in the same folder, without a path. */
function isPlainName(name: unknown): boolean {
  return typeof name === 'string' && /^[a-z]+(\.db)?$/.test(name)
}
