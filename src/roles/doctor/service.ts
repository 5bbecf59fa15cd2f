import { request } from 'undici'
import type { AdminOptions } from '../../config/option.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { isRecord } from '../../domain/json.ts'
import { adminRequest } from '../admin-client.ts'
import { ok, warn } from './finding.ts'

const CHECK = 'service'
/** As of the venue: a busy service is not one that hangs. */
const ANSWER_MS_MAX = 10_000

type Readiness = { readonly ready: boolean; readonly reasons: readonly string[] }

/**
 * @param readiness of the service on this machine; null if none answers
 * @param hasFiles whether a process holds the data directory
 * @param isOther whether a service that answers has another data directory
 */
export function checkService(
  { adminPort }: AdminOptions,
  readiness: Readiness | null,
  hasFiles: boolean,
  isOther = false,
): DoctorFinding {
  if (readiness === null) {
    return hasFiles
      ? warn(
          CHECK,
          `the data directory is in use, but nothing answers on admin port ${adminPort}`,
          'give the --admin-port of the running service, or check whether it hangs',
        )
      : ok(CHECK, `not running with admin port ${adminPort}`)
  }
  if (isOther)
    return ok(
      CHECK,
      `not running; admin port ${adminPort} belongs to a perpscope with another data directory`,
    )
  if (readiness.ready) return ok(CHECK, `running, ready (admin port ${adminPort})`)
  return warn(
    CHECK,
    `running, not ready: ${readiness.reasons.join(', ')} (admin port ${adminPort})`,
    'a first start takes some minutes to warm up; otherwise see its log',
  )
}

/** Health of history and recording of a running service; none if no service answers. */
export async function checkStore(admin: AdminOptions): Promise<readonly DoctorFinding[]> {
  const answer = await adminAnswer(admin, '/store')
  if (!isStoreReport(answer)) return []
  const { store, recording } = answer
  return [
    ...(store === null ? [] : [historyFinding(store)]),
    ...(recording ? [recordingFinding(recording)] : []),
  ]
}

function historyFinding(store: NonNullable<StoreReport['store']>): DoctorFinding {
  const check = 'history at work'
  const { state, reason, since_iso, dropped_rows, damaged_blocks, set_aside_files } = store
  const losses = `${dropped_rows} rows lost, ${damaged_blocks} blocks damaged, ${set_aside_files} files set aside since the start`
  if (state !== 'ok')
    return warn(
      check,
      `nothing is written to disk since ${since_iso}: ${reason}; ${losses}`,
      'free disk space, or find the program that holds the file: rows in memory are written afterwards',
    )
  if (dropped_rows === 0 && damaged_blocks === 0 && set_aside_files === 0)
    return ok(check, `written to disk; ${losses}`)
  return warn(check, `written to disk; ${losses}`, 'see its log for times and reasons')
}

function recordingFinding({ state, reason, since_iso }: State): DoctorFinding {
  const check = 'recording at work'
  if (state === 'on') return ok(check, `recording since ${since_iso}`)
  return warn(
    check,
    `stopped at ${since_iso}: ${reason}; the service continues without it`,
    'free disk space, or give another --record or a larger --record-max-bytes, and restart the service',
  )
}

/** null without an answer of our service. */
export async function readinessAt(admin: AdminOptions): Promise<Readiness | null> {
  const answer = await adminAnswer(admin, '/readyz')
  return isReadiness(answer) ? answer : null
}

async function adminAnswer(admin: AdminOptions, path: string): Promise<unknown> {
  try {
    const { text } = await adminRequest(admin, path, { msMax: ANSWER_MS_MAX })
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The JSON at a URL; null without an answer in JSON. */
export async function answerAt(url: string): Promise<unknown> {
  try {
    const { body } = await request(url, {
      headersTimeout: ANSWER_MS_MAX,
      bodyTimeout: ANSWER_MS_MAX,
    })
    return await body.json()
  } catch {
    return null
  }
}

type State = { readonly state: string; readonly reason: string | null; readonly since_iso: string }

type StoreReport = {
  readonly store:
    | (State & {
        readonly dropped_rows: number
        readonly damaged_blocks: number
        readonly set_aside_files: number
      })
    | null
  /** Absent in older versions, null where nothing is recorded. */
  readonly recording?: State | null
}

/** Only our service answers with this member, from this version on. */
function isStoreReport(answer: unknown): answer is StoreReport {
  return isRecord(answer) && typeof answer['store'] === 'object'
}

function isReadiness(answer: unknown): answer is Readiness {
  return (
    isRecord(answer) && typeof answer['ready'] === 'boolean' && Array.isArray(answer['reasons'])
  )
}
