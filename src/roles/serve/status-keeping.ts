import { join } from 'node:path'
import type { Logger } from 'pino'
import type { StatusPage } from '../../api/free-routes.ts'
import type { MaintenanceState } from '../../api/maintenance-switch.ts'
import type { FreeDocument } from '../../api/send-document.ts'
import { freeDocument } from '../../api/send-document.ts'
import { savedStatusFrom } from '../../api/status/saved-status.ts'
import type { Observation } from '../../api/status/status-history.ts'
import { StatusHistory } from '../../api/status/status-history.ts'
import type { Clock } from '../../domain/clock.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { HealthFault } from '../../payment/health-monitor.ts'
import { StatusFile } from '../../store/status-file.ts'
import type { ServicePart } from './running-service.ts'

const OBSERVE_MS = 1_000
const RENDER_MS = 5_000
/** Below the gap that counts as an incident. */
const SAVE_MS = 10_000

type Observed = {
  readonly engine: EngineReplica
  readonly maintenance: MaintenanceState
  /** Preconditions of a sale. */
  checks(): readonly { readonly check: string; readonly fault: HealthFault | null }[]
}

/** Observes the service, renders its status ahead, and keeps the history in the data directory. */
export function statusKeeping(
  dataDir: string,
  observed: Observed,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): StatusPage & ServicePart {
  const file = new StatusFile(join(dataDir, 'status.json'))
  const history = new StatusHistory(savedIn(file, log), clock.nowMs())
  let isSaved = true
  const save = () => {
    try {
      file.write(history.saved())
      if (!isSaved) log.info('the history of /status is saved again')
      isSaved = true
    } catch (cause) {
      if (isSaved) log.warn({ reason: reasonOf(cause) }, 'the history of /status cannot be saved')
      isSaved = false
    }
  }
  const rendered = () =>
    freeDocument('application/json; charset=utf-8', JSON.stringify(history.report(clock.nowMs())))
  let document: FreeDocument = rendered()
  const stops: (() => void)[] = []
  return {
    get document() {
      return document
    },
    start: () => {
      const every = (ms: number, task: () => void) => stops.push(clock.every(ms, task))
      every(OBSERVE_MS, () => history.observe(observation(observed, clock.nowMs()), clock.nowMs()))
      every(RENDER_MS, () => {
        document = rendered()
      })
      every(SAVE_MS, save)
    },
    stop: () => {
      if (stops.length === 0) return
      for (const stop of stops) stop()
      save()
    },
  }
}

/** A history that cannot be read begins again. */
function savedIn(file: StatusFile, log: Logger) {
  try {
    const document = file.read()
    const saved = savedStatusFrom(document)
    if (saved === null && document !== undefined)
      log.warn('status.json has an unknown form; the history of /status begins again')
    return saved
  } catch (cause) {
    log.warn({ reason: reasonOf(cause) }, 'the history of /status cannot be read; it begins again')
    return null
  }
}

function observation({ engine, maintenance, checks }: Observed, nowMs: number): Observation {
  const state = engine.state(nowMs)
  const sources = [
    ...engine.feeds().map(({ feed, state: of }) => ({ source: feed, state: of })),
    ...engine.sources().map(({ source, state: of }) => ({ source, state: of })),
  ]
  return {
    engine: state,
    engineStartedAtMs: engine.heartbeat?.startedAtMs ?? null,
    isMaintenance: maintenance.isOn,
    coinsReady: engine.coins().length,
    checks: Object.fromEntries(checks().map(({ check, fault }) => [check, fault === null])),
    // Turned off by the operator, or for want of an address.
    sources: sources
      .filter((one) => one.state !== 'off')
      // One that is degraded delivers in part, or while the clocks disagree.
      .map((one) => ({
        ...one,
        isUp: state === 'available' && (one.state === 'up' || one.state === 'degraded'),
      })),
  }
}
