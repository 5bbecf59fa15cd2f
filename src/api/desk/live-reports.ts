import type { Clock } from '../../domain/clock.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { LiveDocument, LiveSource, LiveVersion } from '../console/live-source.ts'
import { refusal } from '../send-problem.ts'
import type { DeskReports } from './desk-reports.ts'

const HEALTH_PERIOD_MS = 1_000
const MONEY_PERIOD_MS = 10_000
const CONTROL_PERIOD_MS = 5_000

/** The reports as documents of the live stream, by their paths. A report that no page follows is not composed. */
export function liveReports(reports: DeskReports, clock: Pick<Clock, 'nowMs'>): LiveSource {
  const documents = new Map([
    ['/desk/health', followed(reports.health, HEALTH_PERIOD_MS, clock)],
    ['/desk/money', followed(reports.money, MONEY_PERIOD_MS, clock)],
    ['/desk/control', followed(reports.control, CONTROL_PERIOD_MS, clock)],
  ])
  return {
    open: (name) =>
      documents.get(name) ??
      refusal('not_found', { detail: 'No report has this name.', param: 'document' }),
  }
}

/** Each look at the newest version begins the next one once its period has passed. */
function followed(
  read: () => Promise<unknown>,
  periodMs: number,
  clock: Pick<Clock, 'nowMs'>,
): LiveDocument {
  let newest: LiveVersion | null = null
  let isReading = false
  let begunAtMs = Number.NEGATIVE_INFINITY
  const compose = async (): Promise<LiveVersion['body']> => {
    try {
      return { answer: JSON.stringify(await read()) }
    } catch (cause) {
      const detail = `The report cannot be composed: ${reasonOf(cause)}.`
      return { refusal: JSON.stringify({ code: 'internal_error', detail }) }
    }
  }
  return {
    kind: 'document',
    newest: () => {
      const nowMs = clock.nowMs()
      if (!isReading && Math.abs(nowMs - begunAtMs) >= periodMs) {
        // The report of the time before nobody followed it is old.
        if (nowMs - begunAtMs >= 2 * periodMs) newest = null
        isReading = true
        begunAtMs = nowMs
        void compose().then((body) => {
          isReading = false
          newest = { version: String(nowMs), atMs: nowMs, body }
        })
      }
      return newest
    },
  }
}
