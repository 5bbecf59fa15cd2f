import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { unseen } from './finding.ts'

/** null if the check does not apply. */
type Found = DoctorFinding | readonly DoctorFinding[] | null

/** A check, and its name for the report if it throws. */
export type Check = readonly [name: string, look: () => Found | Promise<Found>]

/** Runs all checks in order. A check that throws becomes a finding. */
export async function findingsOf(checks: readonly Check[]): Promise<readonly DoctorFinding[]> {
  const findings: DoctorFinding[] = []
  for (const [name, look] of checks) {
    try {
      const found = await look()
      if (found !== null) findings.push(...[found].flat())
    } catch (cause) {
      findings.push(unseen(name, cause))
    }
  }
  return findings
}
