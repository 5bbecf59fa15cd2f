import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DoctorOptions } from '../../config/doctor.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { reasonOf } from '../../domain/errors.ts'
import { checkFileHeader, FILE_HEADER } from '../../store/frame-log.ts'
import { isAbsent, nearestExisting, size } from './files.ts'
import { fail, ok, warn } from './finding.ts'
import { remedyOf } from './remedy.ts'

const CHECK = 'recording'
const OTHER = 'give another --record'

/** Checks the file of `serve --record` without writing to it; null without that option. */
export function checkRecording({
  record,
  recordMaxBytes,
}: Pick<DoctorOptions, 'record' | 'recordMaxBytes'>): DoctorFinding | null {
  if (record === undefined) return null
  const path = resolve(record)
  try {
    if (isAbsent(path)) {
      accessSync(nearestExisting(dirname(path)), constants.W_OK | constants.X_OK)
      return ok(CHECK, `${path} (serve creates it)`)
    }
    const file = statSync(path)
    if (file.isDirectory()) return fail(CHECK, `${path} is a folder`, OTHER)
    accessSync(path, constants.R_OK | constants.W_OK)
    // A pipe, whose size is 0, would wait for a writer.
    if (file.size > 0) checkFileHeader(path, beginningOf(path))
    const found = `${path}, ${size(file.size)}`
    if (file.size < recordMaxBytes) return ok(CHECK, found)
    const advice = `${OTHER}, or a larger --record-max-bytes`
    return warn(CHECK, `${found}, at its maximum size: nothing more is recorded`, advice)
  } catch (cause) {
    const remedy = remedyOf(cause)
    const advice = remedy === null ? OTHER : `${remedy}; or ${OTHER}`
    return fail(CHECK, `cannot be used: ${reasonOf(cause)}`, advice)
  }
}

function beginningOf(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(FILE_HEADER.length + 16)
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(file)
  }
}
