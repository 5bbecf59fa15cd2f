import { backOffMs } from '../domain/back-off.ts'
import type { SteadyClock } from '../domain/steady-clock.ts'
import type { EngineReplica } from './engine-replica.ts'
import { ENGINE_SILENCE_MS_MAX } from './engine-replica.ts'
import type { EngineMessage } from './message.ts'

/** One run of an engine, wherever it lives. */
export interface EngineRun {
  /** Ends it at once, without asking. `onExit` follows. */
  kill(): void
  /** Asks it to save and end. `onExit` follows. */
  stop(): void
}

export type SpawnEngine = (start: {
  readonly onMessage: (message: EngineMessage) => void
  readonly onExit: (reason: string) => void
  /** Our clock was moved a moment ago: what was saved before it is of unknown age. */
  readonly isClockNew: boolean
}) => EngineRun

export type SupervisorNotice =
  | { readonly kind: 'engine-started'; readonly attempt: number }
  | { readonly kind: 'engine-exited'; readonly reason: string; readonly restartInMs: number }
  | { readonly kind: 'engine-killed'; readonly reason: string }
  /** The wall clock was stepped, and is off ours by so much. */
  | { readonly kind: 'clock-stepped'; readonly offMs: number }
  /** It stayed there, and now ours shows the same. */
  | { readonly kind: 'clock-followed'; readonly byMs: number }

const BACK_OFF = { minMs: 250, maxMs: 10_000 }

/** An engine that ran this long before it died has earned a quick restart. */
const HEALTHY_RUN_MS = 60_000

/** A hanging engine is given up after twice the time that callers are made to wait for it. */
const KILL_AFTER_SILENCE_MS = 2 * ENGINE_SILENCE_MS_MAX
const WATCH_PERIOD_MS = 1_000

/** Wall clocks are corrected by less than this all the time. */
const STEP_MS_MIN = 1_000
/** Less than this our clock makes up for by itself, within ten minutes. */
const FOLLOWED_MS_MIN = 3_000
/** So long a step may turn out to be a mistake that is put right. */
const STEP_LASTS_MS = 60_000
/** An engine whose heart beat so often after that, once a second, has saved its state by the new time. */
const CLOCK_NEW_BEATS = 60

/** A new engine loads its checkpoint before its heart beats. */
const START_MS_MAX = 60_000

/** Keeps one engine running and the replica fed: an engine that dies is started again with back-off. */
export class EngineSupervisor {
  readonly #spawn: SpawnEngine
  readonly #replica: EngineReplica
  readonly #clock: WatchedClock
  readonly #onNotice: (notice: SupervisorNotice) => void
  #run: EngineRun | null = null
  #attempt = 0
  #failures = 0
  #startedAtMs = 0
  #heardAtMs = Number.NaN
  /** What comes from a run that was ended is not heard any more. */
  #isKilled = false
  #offMs = 0
  #offSinceMs = Number.NaN
  /** Our clock was moved, and no engine has run long enough since to save anything by it. */
  #isClockNew = false
  /** Heartbeats of the present run. */
  #beats = 0
  #isStopping = false
  #whenStopped: (() => void) | null = null
  #cancelWatch = () => {}
  #cancelRelaunch = () => {}

  constructor(options: {
    readonly spawn: SpawnEngine
    readonly replica: EngineReplica
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

  /** Ends the present run at once, by order; the next one starts from the checkpoint. */
  restart(reason: string): void {
    // An order is no failure: what comes next starts without delay for those before it.
    this.#failures = 0
    this.#kill(reason)
  }

  /** Resolves when the engine has saved its state and ended. */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelWatch()
    this.#cancelRelaunch()
    const run = this.#run
    if (run === null) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenStopped = resolve
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
        // What it remembers comes before it has begun.
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
    // A machine may have slept since the start, and nothing be saved in all that time.
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
    // No jitter: there is one engine, and nobody to stay out of step with.
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
      this.#kill(`silent for ${silentMs} ms`)
  }

  /** A step moves no age. One that stays is followed, by both threads at once. */
  #watchWallClock(): void {
    const nowMs = this.#clock.nowMs()
    const offMs = Math.round(this.#clock.offMs())
    if (Math.abs(offMs - this.#offMs) > STEP_MS_MIN) {
      this.#offSinceMs = nowMs
      this.#onNotice({ kind: 'clock-stepped', offMs })
    }
    this.#offMs = offMs
    if (Math.abs(offMs) < FOLLOWED_MS_MIN || nowMs - this.#offSinceMs < STEP_LASTS_MS) return
    this.#clock.followAtOnce()
    this.#isClockNew = true
    this.#offMs = 0
    this.#onNotice({ kind: 'clock-followed', byMs: offMs })
    // Every age and every deadline counts from an instant of the clock that is gone.
    this.#replica.forget()
    this.restart(`the clock was put ${offMs < 0 ? 'back' : 'forward'} by ${Math.abs(offMs)} ms`)
  }
}

type WatchedClock = Pick<SteadyClock, 'nowMs' | 'after' | 'every' | 'offMs' | 'followAtOnce'>
