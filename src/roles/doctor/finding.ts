import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { reasonOf } from '../../domain/errors.ts'
import { remedyOf } from './remedy.ts'

export function ok(check: string, found: string): DoctorFinding {
  return { check, status: 'ok', found, advice: null }
}

export function warn(check: string, found: string, advice: string): DoctorFinding {
  return { check, status: 'warn', found, advice }
}

export function fail(check: string, found: string, advice: string): DoctorFinding {
  return { check, status: 'fail', found, advice }
}

/** The check could not be made; its object may be intact. */
export function unseen(check: string, cause: unknown, finding = fail): DoctorFinding {
  const advice = remedyOf(cause) ?? 'unknown error: report it if it persists'
  return finding(check, `cannot be checked: ${reasonOf(cause)}`, advice)
}
