import { isRecord } from '../../domain/json.ts'
import type { Incident, SavedStatus, StatusDay } from './status-history.ts'

/** Reads what an earlier process saved. @returns null if it has another form */
export function savedStatusFrom(document: unknown): SavedStatus | null {
  if (!isRecord(document)) return null
  const { sinceMs, lastMs, days, incidents } = document
  const isRead =
    isTime(sinceMs) &&
    isTime(lastMs) &&
    Array.isArray(days) &&
    days.every(isDay) &&
    Array.isArray(incidents) &&
    incidents.every(isIncident)
  return isRead ? { sinceMs, lastMs, days, incidents } : null
}

function isDay(one: unknown): one is StatusDay {
  return (
    isRecord(one) &&
    isTime(one['day']) &&
    isTime(one['elapsedMs']) &&
    isTime(one['soldMs']) &&
    isRecord(one['sources']) &&
    Object.values(one['sources']).every(
      (time) => isRecord(time) && isTime(time['elapsedMs']) && isTime(time['upMs']),
    )
  )
}

function isIncident(one: unknown): one is Incident {
  return (
    isRecord(one) &&
    typeof one['kind'] === 'string' &&
    (one['subject'] === null || typeof one['subject'] === 'string') &&
    isTime(one['beginMs']) &&
    (one['endMs'] === null || isTime(one['endMs']))
  )
}

/** Within the range of a date, so that every value can be shown. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 8.64e15
}
