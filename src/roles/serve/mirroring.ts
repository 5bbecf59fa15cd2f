import type { Logger } from 'pino'
import { Counter } from 'prom-client'
import { readGauge } from '../../api/metrics/read-gauge.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { Broker } from '../../link/broker/broker.ts'
import type { MirrorNotice } from '../../link/broker/mirror.ts'
import { Mirror } from '../../link/broker/mirror.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import type { EngineOrigin } from '../../link/message.ts'
import type { HealthFault } from '../../payment/health-monitor.ts'
import type { CheckedSales } from '../../payment/sales-readiness.ts'
import { monotonicMs, systemClock } from '../system-clock.ts'
import { differencesOf } from './engine-origin.ts'
import type { Foundation } from './foundation.ts'

/** An engine sends a heartbeat every second. Without one in this time the start does not wait for an engine. */
const FIRST_HEARTBEAT_MS_MAX = 3_000
const POLL_MS = 20
const REFUSED_LOG_PERIOD_MS = 10_000
/** Larger differences of the clocks of engine and gateway make ages wrong by as much. */
const CLOCK_DIFFERENCE_MS_MAX = 2_000

/** Follows the leading engine once it is started. */
export function mirrorOf(replica: EngineReplica, broker: Broker, foundation: Foundation): Mirror {
  const { log, clock } = foundation
  const mirror = new Mirror({ broker, replica, clock, monotonicMs, onNotice: noticeLog(log) })
  measure(mirror, replica, foundation)
  return mirror
}

/**
 * Waits for the first heartbeat, if an engine leads. @returns checks of the engine, which can change at any time
 * @throws ConfigError if the engine's documents do not fit this gateway
 */
export async function agreeWithEngine(
  replica: EngineReplica,
  required: Omit<EngineOrigin, 'sentAtMs'>,
  { log }: Foundation,
): Promise<() => readonly CheckedSales[]> {
  const beganMs = monotonicMs()
  while (replica.origin === null && monotonicMs() - beganMs < FIRST_HEARTBEAT_MS_MAX)
    await new Promise<void>((resolve) => systemClock.after(POLL_MS, resolve))
  const difference = () =>
    replica.origin === null ? undefined : differencesOf(required, replica.origin)[0]
  const refusal = difference()
  if (refusal !== undefined) throw new ConfigError(refusal)
  if (replica.origin === null) log.warn('no engine leads yet; documents follow when one does')
  const [agrees, clockFits] = [datedFault(), datedFault()]
  return () => [
    { check: 'engine_agrees', fault: agrees(difference()) },
    { check: 'engine_clock', fault: clockFits(clockDifference(replica)) },
  ]
}

/** @returns the fault of a reason, with the time at which it was first found */
function datedFault(): (reason: string | undefined) => HealthFault | null {
  let sinceMs: number | null = null
  return (reason) => {
    sinceMs = reason === undefined ? null : (sinceMs ?? systemClock.nowMs())
    return reason === undefined || sinceMs === null ? null : { reason, sinceMs }
  }
}

function clockDifference({ origin }: EngineReplica): string | undefined {
  const ms = origin === null ? 0 : origin.sentAtMs - origin.receivedAtMs
  if (Math.abs(ms) <= CLOCK_DIFFERENCE_MS_MAX) return undefined
  const relation = ms > 0 ? 'ahead of' : 'behind'
  return `the clock of the engine is ${Math.abs(Math.round(ms))} ms ${relation} that of this gateway`
}

function measure(mirror: Mirror, replica: EngineReplica, { metrics }: Foundation): void {
  const gauge = (name: string, help: string, read: () => number) =>
    readGauge(metrics, name, help, read)
  gauge('perpscope_mirror_ready', '1 while the documents are complete and fresh.', () =>
    mirror.isReady ? 1 : 0,
  )
  gauge('perpscope_mirror_epoch', 'Epoch of the leading engine.', () => mirror.epoch)
  gauge(
    'perpscope_mirror_silent_seconds',
    'Time since the last heartbeat of the leading engine.',
    () => mirror.silentMs / 1_000,
  )
  gauge(
    'perpscope_mirror_lag_seconds',
    'Age of the last heartbeat when it arrived, by the clocks of engine and gateway.',
    () => (replica.origin && (replica.origin.receivedAtMs - replica.origin.sentAtMs) / 1_000) ?? 0,
  )
  new Counter({
    name: 'perpscope_mirror_refused_frames_total',
    help: 'Frames of the broker that were damaged or of another format.',
    registers: [metrics],
    collect() {
      this.reset()
      this.inc(mirror.refusedFrames)
    },
  })
}

/** Damage can repeat with every frame, so it is logged once in a while. */
function noticeLog(log: Logger): (notice: MirrorNotice) => void {
  let refusedAtMs = Number.NEGATIVE_INFINITY
  return (notice) => {
    if (notice.kind === 'leader-changed' || notice.kind === 'synchronized') {
      log.info(notice, 'mirror')
      return
    }
    if (notice.kind === 'frame-refused') {
      if (monotonicMs() - refusedAtMs < REFUSED_LOG_PERIOD_MS) return
      refusedAtMs = monotonicMs()
    }
    log.warn(notice, 'mirror')
  }
}
