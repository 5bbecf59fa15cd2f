import type { ControlReport, HealthReport, MoneyReport } from '../../domain/desk-reports.ts'

/** The reports of the operator's desk. What is costly is computed while it is asked for, and at most at its own pace. */
export type DeskReports = {
  health(): Promise<HealthReport>
  money(): Promise<MoneyReport>
  control(): Promise<ControlReport>
}
