import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Logger } from 'pino'
import { isWithoutDescriptors } from '../file-descriptors.ts'
import { watchOf } from '../sales-readiness.ts'
import type { ServicePart } from './running-service.ts'

/**
 * Reports when this process can open no more files. Node drops new connections then without an error; open connections
 * and files keep working.
 */
export function openFilesWatch(log: Logger): ServicePart {
  return watchOf('opening files and connections', () => openFault(), log)
}

/** @param open opens and closes a file. @returns why no file can be opened, or null */
export function openFault(open: () => void = openNothing): string | null {
  try {
    open()
    return null
  } catch (cause) {
    if (!isWithoutDescriptors(cause)) throw cause
    return `${cause.code}: too many open files; new connections are dropped. Raise LimitNOFILE= of the unit, or ulimit -n`
  }
}

function openNothing(): void {
  closeSync(openSync(devNull, 'r'))
}
