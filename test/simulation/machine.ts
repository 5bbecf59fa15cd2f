import type { SchedulerAction, SchedulerLike } from 'rxjs'
import { Subscription } from 'rxjs'
import type { ClockAnchor, TimeSources } from '../../src/domain/steady-clock.ts'
import { SteadyClock } from '../../src/domain/steady-clock.ts'
import type { Chance } from './chance.ts'
import type { Happening, Host, Kernel } from './kernel.ts'
import { timersOf } from './kernel.ts'

/** A platform timer fires after at least one millisecond. */
const TIMER_MS_MIN = 1

/**
 * One of our computers: its wall clock can be stepped, and it can sleep. Events that become due during a
 * sleep run at the wake-up, an overdue interval once, with timers or arrivals first at random. Every
 * other sleep is a suspension, in which the monotonic clock stops.
 */
export class Machine {
  readonly #kernel: Kernel
  readonly #chance: Chance
  #offsetMs = 0
  #wakesAtMs = Number.NEGATIVE_INFINITY
  #sleeps = 0
  #suspendedAtMs = Number.NaN
  #suspendedMs = 0
  #timers: Due[] = []
  #arrivals: Due[] = []

  constructor(kernel: Kernel, chance: Chance) {
    this.#kernel = kernel
    this.#chance = chance
  }

  get kernel(): Kernel {
    return this.#kernel
  }

  readonly sources: TimeSources = {
    wallMs: () => this.#kernel.nowMs + this.#offsetMs,
    monotonicMs: () =>
      (Number.isNaN(this.#suspendedAtMs) ? this.#kernel.nowMs : this.#suspendedAtMs) -
      this.#suspendedMs,
    uptimeMs: () => this.#kernel.nowMs,
  }

  get isAsleep(): boolean {
    return this.#kernel.nowMs < this.#wakesAtMs
  }

  stepClock(byMs: number): void {
    this.#offsetMs += byMs
  }

  sleep(durationMs: number): void {
    const wakesAtMs = this.#kernel.nowMs + durationMs
    if (wakesAtMs <= this.#wakesAtMs) return
    if (!this.isAsleep) {
      this.#sleeps += 1
      if (this.#sleeps % 2 === 1) this.#suspendedAtMs = this.#kernel.nowMs
    }
    this.#wakesAtMs = wakesAtMs
    this.#kernel.at(wakesAtMs, null, () => this.#wake())
  }

  /** @param anchor clock anchor of an earlier process, which this one continues */
  process(onDeath: (cause: unknown) => void, anchor?: ClockAnchor): Process {
    return new Process(this, onDeath, anchor)
  }

  /** Defers an event that becomes due while the machine sleeps. */
  defer(due: Due): void {
    if (due.isArrival) this.#arrivals.push(due)
    else this.#timers.push(due)
  }

  #wake(): void {
    if (this.isAsleep) return
    if (!Number.isNaN(this.#suspendedAtMs)) {
      this.#suspendedMs += this.#kernel.nowMs - this.#suspendedAtMs
      this.#suspendedAtMs = Number.NaN
    }
    const [timers, arrivals] = [this.#timers, this.#arrivals]
    this.#timers = []
    this.#arrivals = []
    const inOrder = this.#chance.is(0.5) ? [...timers, ...arrivals] : [...arrivals, ...timers]
    for (const { happening, process } of inOrder) process.perform(happening)
  }
}

type Due = {
  readonly happening: Happening
  readonly process: Process
  readonly isArrival: boolean
}

/** Errors that a library throws later, outside the call that caused them. */
const thrownLater: (() => void)[] = []

/** A process on a machine. An uncaught exception ends it, and it can be killed. */
export class Process {
  readonly #machine: Machine
  readonly #onDeath: (cause: unknown) => void
  readonly #timerHost: Host
  readonly #arrivalHost: Host
  readonly #onEnd = new Set<() => void>()
  readonly clock: SteadyClock
  #isAlive = true
  #timers = 0

  constructor(machine: Machine, onDeath: (cause: unknown) => void, anchor?: ClockAnchor) {
    this.#machine = machine
    const after = (delayMs: number, task: () => void) => this.startTimer(delayMs, task)
    this.clock = new SteadyClock(machine.sources, timersOf(after), anchor)
    this.#onDeath = onDeath
    const host = (isArrival: boolean): Host => ({
      dispatch: (happening) => {
        if (machine.isAsleep) machine.defer({ happening, process: this, isArrival })
        else this.perform(happening)
      },
    })
    this.#timerHost = host(false)
    this.#arrivalHost = host(true)
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Number of active timers. */
  get timers(): number {
    return this.#timers
  }

  readonly scheduler: SchedulerLike = {
    now: () => this.clock.nowMs(),
    schedule: <T>(
      work: (this: SchedulerAction<T>, state?: T) => void,
      delayMs = 0,
      state?: T,
    ): Subscription => new Action(this, work).schedule(state, delayMs),
  }

  /** @returns a function that stops it. */
  startTimer(delayMs: number, task: () => void): () => void {
    const { kernel } = this.#machine
    const dueMs = kernel.nowMs + Math.max(TIMER_MS_MIN, Math.trunc(delayMs))
    this.#timers += 1
    const happening = kernel.at(dueMs, this.#timerHost, () => {
      this.#timers -= 1
      task()
    })
    return () => {
      if (happening.task === null) return
      happening.task = null
      this.#timers -= 1
    }
  }

  /** Runs `task` when external input reaches the process at an instant of true time. */
  arrive(atMs: number, task: () => void): void {
    this.#machine.kernel.at(atMs, this.#arrivalHost, task)
  }

  /** Runs `task` at the end of the process, for any reason. @returns a function that cancels it. */
  onEnd(task: () => void): () => void {
    this.#onEnd.add(task)
    return () => this.#onEnd.delete(task)
  }

  perform(happening: Happening): void {
    const { task } = happening
    if (task === null) return
    happening.task = null
    this.run(task)
  }

  run(task: () => void): void {
    if (!this.#isAlive) return
    try {
      task()
      for (let late = thrownLater.shift(); late !== undefined; late = thrownLater.shift()) late()
    } catch (cause) {
      thrownLater.length = 0
      this.kill()
      this.#onDeath(cause)
    }
  }

  /** Like SIGKILL: none of its tasks run any more. */
  kill(): void {
    if (!this.#isAlive) return
    this.#isAlive = false
    for (const task of this.#onEnd) task()
    this.#onEnd.clear()
  }
}

/** An RxJS action on the timers of a process. */
class Action<T> extends Subscription implements SchedulerAction<T> {
  readonly #process: Process
  readonly #work: (this: SchedulerAction<T>, state?: T) => void
  #stop: (() => void) | null = null

  constructor(process: Process, work: (this: SchedulerAction<T>, state?: T) => void) {
    super()
    this.#process = process
    this.#work = work
  }

  schedule(state?: T, delayMs = 0): Subscription {
    if (this.closed) return this
    this.#stop?.()
    this.#stop = this.#process.startTimer(delayMs, () => {
      this.#stop = null
      this.#work.call(this, state)
    })
    return this
  }

  override unsubscribe(): void {
    this.#stop?.()
    this.#stop = null
    super.unsubscribe()
  }
}

/**
 * Runs a simulation without real timers. RxJS reports an unhandled error from a timer of its own; here it
 * is thrown immediately, in the process that caused it.
 */
export function withoutRealTimers<Result>(simulation: () => Result): Result {
  const { setTimeout: realSetTimeout, setInterval: realSetInterval } = globalThis
  const forbidden = () => {
    throw new Error('a real timer was started in a simulation')
  }
  const later = (task: () => void, delayMs?: number) => {
    if (delayMs !== undefined && delayMs > 0) forbidden()
    thrownLater.push(task)
  }
  Object.assign(globalThis, { setTimeout: later, setInterval: forbidden })
  try {
    return simulation()
  } finally {
    thrownLater.length = 0
    Object.assign(globalThis, { setTimeout: realSetTimeout, setInterval: realSetInterval })
  }
}

/** Runs code without access to the real clock or randomness, so that the seed determines everything. */
export function withoutRealTime<Result>(simulation: () => Result): Result {
  const { setImmediate, queueMicrotask } = globalThis
  const { now } = Date
  const { random } = Math
  const forbidden = () => {
    throw new Error('real time or chance in a simulation')
  }
  Object.assign(globalThis, { setImmediate: forbidden, queueMicrotask: forbidden })
  Object.assign(Date, { now: forbidden })
  Object.assign(Math, { random: forbidden })
  try {
    return simulation()
  } finally {
    Object.assign(globalThis, { setImmediate, queueMicrotask })
    Object.assign(Date, { now })
    Object.assign(Math, { random })
  }
}
