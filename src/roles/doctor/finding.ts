import { reasonOf } from '../../domain/errors.ts'
import { remedyOf } from './remedy.ts'

/** Result of one check of `perpscope doctor`; with `fail` the service cannot work. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** Remedy; null if none is needed. */
  readonly advice: string | null
}

export function ok(check: string, found: string): Finding {
  return { check, status: 'ok', found, advice: null }
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, status: 'warn', found, advice }
}

export function fail(check: string, found: string, advice: string): Finding {
  return { check, status: 'fail', found, advice }
}

/** The check could not be made; its object may be intact. */
export function unseen(check: string, cause: unknown, finding = fail): Finding {
  const advice = remedyOf(cause) ?? 'unknown error: report it if it persists'
  return finding(check, `cannot be checked: ${reasonOf(cause)}`, advice)
}
