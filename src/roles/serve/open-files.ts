import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Logger } from 'pino'
import { isWithoutDescriptors } from '../file-descriptors.ts'
import { watchOf } from '../sales-readiness.ts'
import type { ServicePart } from './running-service.ts'

/**
 * Reports when this process can open no more files. Node accepts no connection then, without an error; open connections
 * and files keep working.
 */
export function openFilesWatch(log: Logger): ServicePart {
  return watchOf('opening files and connections', () => openFault(), log)
}

/** How many files and connections this process may have open at a time. */
export function openFilesMax(): number {
  // Without it the report asks for the names of all peers.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as unknown as {
    readonly userLimits?: { readonly open_files: { readonly soft: number | 'unlimited' } }
  }
  // Absent on Windows, which has no such limit.
  return Number(userLimits?.open_files.soft) || Number.POSITIVE_INFINITY
}

/** @param open opens and closes a file. @returns why no file can be opened, or null */
export function openFault(open: () => void = openNothing): string | null {
  try {
    open()
    return null
  } catch (cause) {
    if (!isWithoutDescriptors(cause)) throw cause
    return `${cause.code}: too many open files; no new connection is accepted. Raise LimitNOFILE= of the unit, or ulimit -n`
  }
}

function openNothing(): void {
  closeSync(openSync(devNull, 'r'))
}
