import { accessSync, constants, lstatSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { OperatingError, reasonOf } from '../../domain/errors.ts'
import { isoInstant } from '../../domain/instant.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { inspectChannels } from '../../payment/channels/sqlite-channel-store.ts'
import { LedgerReport } from '../../payment/ledger/ledger-report.ts'
import { CheckpointDb } from '../../store/checkpoint-db.ts'
import { marketIn } from '../../store/data-dir.ts'
import { DocumentStore } from '../../store/document-store.ts'
import { inspectHistory } from '../../store/history-inspection.ts'
import { lstatPresent, statPresent } from '../../store/present-file.ts'
import type { FileInspection } from '../../store/sqlite-file.ts'
import { fail, ok, unseen, warn } from './finding.ts'
import { remedyOf } from './remedy.ts'

/** A full history of 326 coins has 158 MB, and 0.4 MB for each measure; checkpoint, ledger and logs need room as well. */
const FREE_BYTES_MIN = 512e6
const FREE_BYTES_GOOD = 2e9

const DISK_ADVICE = 'check the disk for failures (dmesg, smartctl), and verify a backup'

/** @param market of the options. @param freeBytesAt bytes that are available on the disk of a folder */
export function checkDataDir(
  dataDir: string,
  market: string,
  freeBytesAt: (folder: string) => number = freeBytesOf,
): DoctorFinding {
  const check = 'data directory'
  const path = resolve(dataDir)
  let existing: string
  let owner: string | null
  try {
    existing = nearestExisting(path)
    const fix = 'create a folder there, or give another --data-dir'
    if (!statSync(existing).isDirectory()) return fail(check, `${existing} is not a folder`, fix)
    accessSync(existing, constants.W_OK | constants.X_OK)
    owner = existing === path ? marketIn(path) : null
  } catch (cause) {
    const fix = remedyOf(cause) ?? 'check what this path is'
    return fail(check, `cannot be used: ${reasonOf(cause)}`, `${fix}; or give another --data-dir`)
  }
  if (owner !== null && owner !== market)
    return fail(
      check,
      `${path} belongs to the market at ${owner}, not at ${market}`,
      'give another --data-dir',
    )
  const freeBytes = freeBytesAt(existing)
  const found = `${path}${existing === path ? '' : ' (serve creates it)'}, ${size(freeBytes)} free`
  const more = 'free disk space: without it nothing is saved and no payment is accepted'
  if (freeBytes < FREE_BYTES_MIN) return fail(check, found, more)
  if (freeBytes < FREE_BYTES_GOOD) return warn(check, found, more)
  return ok(check, found)
}

/** null if no file is set aside. */
export function checkSetAside(dataDir: string): DoctorFinding | null {
  if (statPresent(dataDir)?.isDirectory() !== true) return null
  const names = readdirSync(dataDir).filter((name) => /\.corrupt-\d+$/.test(name))
  if (names.length === 0) return null
  const bytes = names.reduce((sum, name) => sum + lstatSync(join(dataDir, name)).size, 0)
  return warn(
    'files set aside',
    `${names.join(', ')}: ${size(bytes)}, damaged or of another version`,
    `${DISK_ADVICE}; delete them if they are not needed`,
  )
}

export function checkCheckpoint(dataDir: string, nowMs: number): DoctorFinding {
  const check = 'checkpoint'
  const path = join(dataDir, 'engine.db')
  return fileFinding(check, path, CheckpointDb.inspect, (file) =>
    ok(
      check,
      `schema ${file.version}, ${size(file.bytes)}, ${file.found.coins} coins, whole, file modified ${ago(nowMs - file.writtenMs)}`,
    ),
  )
}

/** The last documents; without them a restart takes some seconds longer, so a fault is only a warning. */
export function checkDocuments(dataDir: string, nowMs: number): DoctorFinding {
  const check = 'documents'
  const path = join(dataDir, 'documents.db')
  const finding = fileFinding(check, path, DocumentStore.inspect, ({ version, bytes, found }) => {
    const { documents, damaged, newestMs } = found
    const newest = newestMs === null ? '' : `, the newest rendered ${ago(nowMs - newestMs)}`
    const text = `schema ${version}, ${size(bytes)}, ${documents} documents${newest}`
    if (damaged === 0) return ok(check, text)
    return warn(check, `${text}; ${damaged} are damaged and are ignored`, DISK_ADVICE)
  })
  return finding.status === 'fail' ? { ...finding, status: 'warn' } : finding
}

export function checkHistory(dataDir: string): DoctorFinding {
  const check = 'history'
  const path = join(dataDir, 'history.db')
  return fileFinding(check, path, inspectHistory, ({ version, bytes, found: contents }) => {
    const { coins, measures, rows, oldestMs, newestMs, damagedBlocks } = contents
    const span =
      oldestMs === null || newestMs === null
        ? ''
        : ` from ${isoInstant(oldestMs)} to ${isoInstant(newestMs)}`
    const found = `schema ${version}, ${size(bytes)}, ${coins} coins, ${measures} measures, ${rows} rows${span}`
    if (damagedBlocks === 0) return ok(check, `${found}, whole`)
    return warn(check, `${found}; ${damagedBlocks} blocks are damaged and are ignored`, DISK_ADVICE)
  })
}

/** serve never replaces a damaged ledger, which is the only record of sales. */
export function checkLedger(dataDir: string): DoctorFinding {
  const check = 'ledger'
  const path = join(dataDir, 'ledger.db')
  let books: LedgerReport | undefined
  try {
    if (isAbsent(path)) return ok(check, 'none yet; serve creates one')
    books = new LedgerReport(path)
    const payments = books.check()
    return ok(check, `${size(statSync(path).size)}, ${payments} payments, whole`)
  } catch (cause) {
    if (remedyOf(cause) !== null) return unseen(check, cause)
    if (!(cause instanceof OperatingError)) throw cause
    if (cause.code === 'ledger_empty')
      return warn(
        check,
        cause.message,
        'serve would create a new one without earlier sales: if there were any, restore a backup first',
      )
    if (cause.code === 'ledger_older')
      return warn(check, cause.message, 'serve keeps a copy of the file beside it')
    if (cause.code === 'ledger_version' || cause.code === 'ledger_moved')
      return fail(check, cause.message, 'serve would not start: docs/upgrade.md')
    return fail(
      check,
      reasonOf(cause),
      `serve would not start: keep the file with its -wal and -shm files, and restore a backup. ${DISK_ADVICE}`,
    )
  } finally {
    books?.close()
  }
}

/** Vouchers of buyers. Like the ledger this file is never replaced. null without a file while channels are off. */
export function checkChannels(dataDir: string, areOn: boolean): DoctorFinding | null {
  const check = 'payment channels'
  const path = join(dataDir, 'channels.db')
  try {
    if (isAbsent(path)) return areOn ? ok(check, 'none yet; serve creates them') : null
    const inspection = inspectChannels(path)
    const bytes = size(statSync(path).size)
    if (inspection.state === 'empty')
      return warn(
        check,
        `${path} is empty (${statSync(path).size} bytes): it contains no channels`,
        'if channels were open, their vouchers are missing: restore a backup first',
      )
    const { channels, unclaimed } = inspection
    const found = `${bytes}, ${channels} channels, ${usdcDecimal(unclaimed)} USDC not claimed, whole`
    if (areOn || unclaimed === 0n) return ok(check, found)
    return warn(
      check,
      `${found}; channels are off`,
      'payers can withdraw this amount: run serve with --payment-channels on until it is claimed',
    )
  } catch (cause) {
    if (remedyOf(cause) !== null) return unseen(check, cause, areOn ? fail : warn)
    if (!(cause instanceof OperatingError)) throw cause
    const keep = `keep the file with its -wal and -shm files, and restore a backup. ${DISK_ADVICE}`
    return areOn
      ? fail(check, reasonOf(cause), `serve would not start: ${keep}`)
      : warn(check, reasonOf(cause), `vouchers cannot be claimed: ${keep}`)
  }
}

function fileFinding<Found>(
  check: string,
  path: string,
  inspect: (path: string) => FileInspection<Found>,
  readable: (file: Extract<FileInspection<Found>, { state: 'readable' }>) => DoctorFinding,
): DoctorFinding {
  let inspection: FileInspection<Found>
  try {
    inspection = isAbsent(path) ? { state: 'absent' } : inspect(path)
  } catch (cause) {
    return unseen(check, cause)
  }
  switch (inspection.state) {
    case 'absent':
      return ok(check, 'none yet; serve creates one')
    case 'unusable':
      return fail(
        check,
        `${size(inspection.bytes)}, cannot be used: ${inspection.reason}`,
        inspection.isNewer
          ? 'serve would not start: use the version that wrote it, or restore a backup (docs/upgrade.md)'
          : `serve will set it aside and create a new one; restore a backup first if you have one. ${DISK_ADVICE}`,
      )
    case 'readable':
      return readable(inspection)
    default:
      return inspection satisfies never
  }
}

/** @throws if the path cannot be read, and for a dangling link: its file may be on a disk that is not mounted */
export function isAbsent(path: string): boolean {
  if (lstatPresent(path) === undefined) return true
  statSync(path)
  return false
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** A dangling link exists: no folder can be created in its place. */
export function nearestExisting(path: string): string {
  const isThere = lstatPresent(path) !== undefined
  return isThere ? path : nearestExisting(dirname(path))
}

export function size(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}

function ago(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 2) return `${Math.round(ms / 1_000)} s ago`
  return minutes < 120 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`
}
