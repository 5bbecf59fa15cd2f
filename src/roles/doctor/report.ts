import { styleText } from 'node:util'
import Table from 'cli-table3'
import type { DoctorFinding } from '../../domain/desk-reports.ts'

/** Where a report is shown. */
export type Terminal = {
  /** null where the output is no terminal, but a file or another program. */
  readonly columns: number | null
  readonly hasColor: boolean
}

const COLORS = { ok: 'green', warn: 'yellow', fail: 'red' } as const

/** One line per check: a table on a terminal, otherwise plain text. */
export function rendered(
  findings: readonly DoctorFinding[],
  { columns, hasColor }: Terminal,
): string {
  const statusOf = ({ status }: DoctorFinding) =>
    hasColor ? styleText(COLORS[status], status, { validateStream: false }) : status
  const textOf = ({ found, advice }: DoctorFinding) =>
    advice === null ? found : `${found} → ${advice}`
  const verdict = `${verdictOn(findings)}\n`
  if (columns === null) {
    const lines = findings.map((finding) => {
      return `${statusOf(finding)}\t${finding.check}\t${textOf(finding)}\n`
    })
    return lines.join('') + verdict
  }
  const [statusColumns, checkColumns] = [
    8,
    2 + Math.max(...findings.map(({ check }) => check.length)),
  ]
  const table = new Table({
    style: { head: [], border: [], compact: true },
    colWidths: [
      statusColumns,
      checkColumns,
      Math.max(40, columns - statusColumns - checkColumns - 4),
    ],
    wordWrap: true,
  })
  for (const finding of findings) table.push([statusOf(finding), finding.check, textOf(finding)])
  return `${table.toString()}\n${verdict}`
}

function verdictOn(findings: readonly DoctorFinding[]): string {
  const count = (status: DoctorFinding['status']) =>
    findings.filter((finding) => finding.status === status).length
  const [failed, warned] = [count('fail'), count('warn')]
  if (failed > 0) return `${failed} of ${findings.length} checks failed`
  return warned > 0
    ? `no check failed; ${warned} warning${warned === 1 ? '' : 's'}`
    : 'all checks passed'
}
