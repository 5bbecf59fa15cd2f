import { reasonOf } from '../../domain/errors.ts'
import { remedyOf } from './remedy.ts'

/** What one check of `perpscope doctor` found: `fail` keeps the service from its work. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** What to do about it; null where nothing is to be done. */
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

/** Nothing is known of what was to be checked: it may be whole, and `serve` may get along with it. */
export function unseen(check: string, cause: unknown, finding = fail): Finding {
  const advice = remedyOf(cause) ?? 'doctor does not know this error: report it if it stays'
  return finding(check, `cannot be looked at: ${reasonOf(cause)}`, advice)
}
