import type { Finding } from './finding.ts'
import { unseen } from './finding.ts'

/** null: there is nothing to say. */
type Found = Finding | readonly Finding[] | null

/** A check and what it is called where it cannot even be made. */
export type Check = readonly [name: string, look: () => Found | Promise<Found>]

/** One check after the other. One that throws is a finding, and takes nothing from the others' report. */
export async function findingsOf(checks: readonly Check[]): Promise<readonly Finding[]> {
  const findings: Finding[] = []
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
