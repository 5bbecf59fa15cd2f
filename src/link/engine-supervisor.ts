import { backOffMs } from '../domain/back-off.ts'
import type { SteadyClock } from '../domain/steady-clock.ts'
import type { EngineReplica } from './engine-replica.ts'
import { ENGINE_SILENCE_MS_MAX } from './engine-replica.ts'
import type { EngineMessage } from './message.ts'

/** One run of an engine. */
export interface EngineRun {
  /** Ends it at once. `onExit` follows. */
  kill(): void
  /** Lets it save its state and end. `onExit` follows. */
  stop(): void
}

export type SpawnEngine = (start: {
  readonly onMessage: (message: EngineMessage) => void
  readonly onExit: (reason: string) => void
  /** The clock was set shortly before, so the age of saved data is unknown. */
  readonly isClockNew: boolean
}) => EngineRun

export type SupervisorNotice =
  | { readonly kind: 'engine-started'; readonly attempt: number }
  | { readonly kind: 'engine-exited'; readonly reason: string; readonly restartInMs: number }
  | { readonly kind: 'engine-killed'; readonly reason: string }
  /** The wall clock was stepped and differs from the steady clock by `offMs`. */
  | { readonly kind: 'clock-stepped'; readonly offMs: number }
  /** The step persisted, and the steady clock was set to the wall clock. */
  | { readonly kind: 'clock-followed'; readonly byMs: number }

const BACK_OFF = { minMs: 250, maxMs: 10_000 }

/** The back-off starts again after a run of this length. */
const HEALTHY_RUN_MS = 60_000

/** A hanging engine is killed at twice the silence at which callers get no answers. */
const KILL_AFTER_SILENCE_MS = 2 * ENGINE_SILENCE_MS_MAX
const WATCH_PERIOD_MS = 1_000

/** Smaller differences are normal corrections of a wall clock. */
const STEP_MS_MIN = 1_000
/** The steady clock adjusts to smaller differences within ten minutes. */
const FOLLOWED_MS_MIN = 3_000
/** A step that is reverted within this time has no effect. */
const STEP_LASTS_MS = 60_000
/** After this many heartbeats, one per second, an engine has saved its state with the new time. */
const CLOCK_NEW_BEATS = 60

/** A drain leaves 5 s of the grace period of the process, for this and for the parts that stop afterwards. */
const STOP_MS_MAX = 4_000

/** A new engine loads its checkpoint before its first heartbeat. */
const START_MS_MAX = 60_000

/** Keeps one engine running: restarts it with back-off, and applies its messages to the replica. */
export class EngineSupervisor {
  readonly #spawn: SpawnEngine
  readonly #replica: ReplicaTarget
  readonly #clock: WatchedClock
  readonly #onNotice: (notice: SupervisorNotice) => void
  #run: EngineRun | null = null
  #attempt = 0
  #failures = 0
  #startedAtMs = 0
  #heardAtMs = Number.NaN
  /** Messages of a killed run are ignored. */
  #isKilled = false
  #offMs = 0
  #offSinceMs = Number.NaN
  /** The clock was set, and no engine has run long enough since to save its state. */
  #isClockNew = false
  /** Heartbeats of the present run. */
  #beats = 0
  #isStopping = false
  #whenStopped: (() => void) | null = null
  #cancelWatch = () => {}
  #cancelRelaunch = () => {}

  constructor(options: {
    readonly spawn: SpawnEngine
    readonly replica: ReplicaTarget
    readonly clock: WatchedClock
    readonly onNotice: (notice: SupervisorNotice) => void
  }) {
    this.#spawn = options.spawn
    this.#replica = options.replica
    this.#clock = options.clock
    this.#onNotice = options.onNotice
  }

  start(): void {
    this.#cancelWatch = this.#clock.every(WATCH_PERIOD_MS, () => this.#watch())
    this.#launch()
  }

  /** Ends the present run at once; the next one starts from the checkpoint. */
  restart(reason: string): void {
    // A requested restart is not a failure, so earlier failures do not delay it.
    this.#failures = 0
    this.#kill(reason)
  }

  /** Resolves when the engine has saved its state and ended; one that hangs is killed. */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelWatch()
    this.#cancelRelaunch()
    const run = this.#run
    if (run === null) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#clock.after(STOP_MS_MAX, () =>
        this.#kill(`it did not stop within ${STOP_MS_MAX} ms`),
      )
      this.#whenStopped = () => {
        cancel()
        resolve()
      }
      run.stop()
    })
  }

  #launch(): void {
    this.#attempt += 1
    this.#startedAtMs = this.#clock.nowMs()
    this.#heardAtMs = Number.NaN
    this.#beats = 0
    this.#isKilled = false
    this.#onNotice({ kind: 'engine-started', attempt: this.#attempt })
    const attempt = this.#attempt
    this.#run = this.#spawn({
      onMessage: (message) => {
        if (attempt !== this.#attempt || this.#isKilled) return
        const nowMs = this.#clock.nowMs()
        // Heartbeats alone prove that the engine runs: restored documents arrive before it does.
        if (message.kind === 'heartbeat') this.#beat(nowMs)
        this.#replica.apply(message, nowMs)
      },
      onExit: (reason) => {
        if (attempt === this.#attempt && this.#run !== null) this.#exited(reason)
      },
      isClockNew: this.#isClockNew,
    })
  }

  #beat(nowMs: number): void {
    this.#heardAtMs = nowMs
    this.#beats += 1
    // Beats are counted instead of time, because the machine may have slept without saving.
    if (this.#beats >= CLOCK_NEW_BEATS) this.#isClockNew = false
  }

  #exited(reason: string): void {
    this.#run = null
    this.#replica.disconnected()
    if (this.#isStopping) {
      this.#whenStopped?.()
      return
    }
    const ranMs = this.#clock.nowMs() - this.#startedAtMs
    this.#failures = ranMs >= HEALTHY_RUN_MS ? 1 : this.#failures + 1
    // No jitter, because there is one engine.
    const restartInMs = backOffMs(BACK_OFF, this.#failures, 1)
    this.#onNotice({ kind: 'engine-exited', reason, restartInMs })
    this.#cancelRelaunch = this.#clock.after(restartInMs, () => this.#launch())
  }

  #kill(reason: string): void {
    if (this.#run === null || this.#isKilled) return
    this.#onNotice({ kind: 'engine-killed', reason })
    this.#isKilled = true
    this.#replica.disconnected()
    this.#run.kill()
  }

  #watch(): void {
    this.#watchWallClock()
    if (this.#run === null) return
    const nowMs = this.#clock.nowMs()
    const isStarting = Number.isNaN(this.#heardAtMs)
    const silentMs = nowMs - (isStarting ? this.#startedAtMs : this.#heardAtMs)
    if (silentMs > (isStarting ? START_MS_MAX : KILL_AFTER_SILENCE_MS))
      this.#kill(`no heartbeat for ${silentMs} ms`)
  }

  /** Ages use the steady clock, so a step changes none. A step that lasts is adopted, and the engine starts again. */
  #watchWallClock(): void {
    const nowMs = this.#clock.nowMs()
    const offMs = Math.round(this.#clock.offMs())
    if (Math.abs(offMs - this.#offMs) > STEP_MS_MIN) {
      this.#offSinceMs = nowMs
      this.#onNotice({ kind: 'clock-stepped', offMs })
    }
    this.#offMs = offMs
    if (Math.abs(offMs) < FOLLOWED_MS_MIN) {
      this.#offSinceMs = Number.NaN
      return
    }
    // A slewed clock goes off without a step.
    if (Number.isNaN(this.#offSinceMs)) this.#offSinceMs = nowMs
    if (nowMs - this.#offSinceMs < STEP_LASTS_MS) return
    this.#offSinceMs = Number.NaN
    this.#clock.followAtOnce()
    this.#isClockNew = true
    this.#offMs = 0
    this.#onNotice({ kind: 'clock-followed', byMs: offMs })
    // All ages and deadlines refer to the old clock.
    this.#replica.forget()
    this.restart(`the clock was set ${offMs < 0 ? 'back' : 'forward'} by ${Math.abs(offMs)} ms`)
  }
}

/** Receives the messages of an engine. */
export type ReplicaTarget = Pick<EngineReplica, 'apply' | 'disconnected' | 'forget'>

type WatchedClock = Pick<SteadyClock, 'nowMs' | 'after' | 'every' | 'offMs' | 'followAtOnce'>
