import { backOffMs } from '../domain/back-off.ts'
import type { Clock } from '../domain/clock.ts'
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

export type SpawnEngine = (events: {
  readonly onMessage: (message: EngineMessage) => void
  readonly onExit: (reason: string) => void
}) => EngineRun

export type SupervisorNotice =
  | { readonly kind: 'engine-started'; readonly attempt: number }
  | { readonly kind: 'engine-exited'; readonly reason: string; readonly restartInMs: number }
  | { readonly kind: 'engine-killed'; readonly reason: string }

const BACK_OFF = { minMs: 250, maxMs: 10_000 }

/** An engine that ran this long before it died has earned a quick restart. */
const HEALTHY_RUN_MS = 60_000

/** A hanging engine is given up after twice the time that callers are made to wait for it. */
const KILL_AFTER_SILENCE_MS = 2 * ENGINE_SILENCE_MS_MAX
const WATCH_PERIOD_MS = 1_000

/** Clocks are corrected by less than this all the time. */
const CLOCK_BACK_MS_MAX = 1_000

/** A new engine loads its checkpoint before it speaks. */
const START_MS_MAX = 60_000

/** Keeps one engine running and the replica fed: an engine that dies is started again with back-off. */
export class EngineSupervisor {
  readonly #spawn: SpawnEngine
  readonly #replica: EngineReplica
  readonly #clock: Clock
  readonly #onNotice: (notice: SupervisorNotice) => void
  #run: EngineRun | null = null
  #attempt = 0
  #failures = 0
  #startedAtMs = 0
  #heardAtMs = Number.NaN
  #watchedAtMs = Number.NEGATIVE_INFINITY
  #isStopping = false
  #whenStopped: (() => void) | null = null
  #cancelWatch = () => {}
  #cancelRelaunch = () => {}

  constructor(options: {
    readonly spawn: SpawnEngine
    readonly replica: EngineReplica
    readonly clock: Clock
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
    this.#onNotice({ kind: 'engine-started', attempt: this.#attempt })
    const attempt = this.#attempt
    this.#run = this.#spawn({
      onMessage: (message) => {
        if (attempt !== this.#attempt) return
        this.#heardAtMs = this.#clock.nowMs()
        this.#replica.apply(message, this.#heardAtMs)
      },
      onExit: (reason) => {
        if (attempt === this.#attempt && this.#run !== null) this.#exited(reason)
      },
    })
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
    this.#onNotice({ kind: 'engine-killed', reason })
    this.#run?.kill()
  }

  #watch(): void {
    const nowMs = this.#clock.nowMs()
    const backMs = this.#watchedAtMs - nowMs
    this.#watchedAtMs = nowMs
    if (backMs > CLOCK_BACK_MS_MAX) {
      // Every age and every deadline counts from an instant that lies in the future now.
      this.#replica.forget()
      this.restart(`the clock was put back by ${backMs} ms`)
      return
    }
    if (this.#run === null) return
    const isStarting = Number.isNaN(this.#heardAtMs)
    const silentMs = nowMs - (isStarting ? this.#startedAtMs : this.#heardAtMs)
    if (silentMs > (isStarting ? START_MS_MAX : KILL_AFTER_SILENCE_MS))
      this.#kill(`silent for ${silentMs} ms`)
  }
}
