import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { EngineReplica } from './engine-replica.ts'
import type { SpawnEngine, SupervisorNotice } from './engine-supervisor.ts'
import { EngineSupervisor } from './engine-supervisor.ts'
import type { EngineMessage } from './message.ts'
import { STORE_OK } from './testing/store-ok.ts'

const heartbeat: EngineMessage = {
  kind: 'heartbeat',
  heartbeat: {
    startedAtMs: 0,
    feeds: [],
    sources: [],
    store: STORE_OK,
    counts: {},
  },
}

const documents: EngineMessage = {
  kind: 'documents',
  documents: [
    {
      key: 'pulse/BTC',
      version: 1,
      renderedAtMs: 0,
      bytes: new Uint8Array(),
      parts: [],
      views: {
        '1h,4h': { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] },
      },
    },
  ],
}

describe('engine supervisor', () => {
  let clock: SteppedClock
  let notices: SupervisorNotice[]
  let replica: EngineReplica
  let runs: ScriptedRun[]
  let supervisor: EngineSupervisor
  let isHanging: boolean

  beforeEach(() => {
    isHanging = false
    clock = new SteppedClock()
    notices = []
    replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
    runs = []
    const spawn: SpawnEngine = (events) => {
      const run = { ...events, wasKilled: false, wasStopped: false }
      runs.push(run)
      return {
        kill: () => {
          run.wasKilled = true
          events.onExit('killed')
        },
        stop: () => {
          run.wasStopped = true
          if (!isHanging) events.onExit('stopped')
        },
      }
    }
    supervisor = new EngineSupervisor({
      spawn,
      replica,
      clock,
      onNotice: (notice) => notices.push(notice),
    })
    supervisor.start()
  })

  const state = () => replica.state(clock.nowMs())
  const speak = (message: EngineMessage = heartbeat) => runs.at(-1)?.onMessage(message)

  test('is unavailable until the engine speaks', () => {
    expect(state()).toBe('unavailable')
    speak()
    expect(state()).toBe('available')
  })

  test('an engine that lives but says nothing is silent after 15 s, not before', () => {
    speak()
    clock.advance(15_000)
    expect(state()).toBe('available')
    clock.advance(1)
    expect(state()).toBe('silent')
    speak()
    expect(state()).toBe('available')
  })

  test('an engine that hangs for 30 s is killed and started again', () => {
    speak()
    clock.advance(32_000)
    expect(runs[0]?.wasKilled).toBe(true)
    expect(runs).toHaveLength(2)
  })

  test('an engine that told what it remembers has a minute to begin, like any other', () => {
    speak(documents)
    clock.advance(60_000)
    expect(runs[0]?.wasKilled, 'its history may take that long to open').toBe(false)
    clock.advance(2_000)
    expect(runs[0]?.wasKilled).toBe(true)
  })

  test('a dead engine is unavailable at once and comes back after the back-off', () => {
    speak()
    runs[0]?.onExit('crashed')
    expect(state()).toBe('unavailable')
    clock.advance(249)
    expect(runs).toHaveLength(1)
    clock.advance(1)
    expect(runs).toHaveLength(2)
    speak()
    expect(state()).toBe('available')
  })

  test('an engine that dies again and again is started ever more slowly, up to 10 s', () => {
    for (const expectedMs of [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      const before = runs.length
      runs.at(-1)?.onExit('crashed')
      clock.advance(expectedMs - 1)
      expect(runs.length, `not before ${expectedMs} ms`).toBe(before)
      clock.advance(1)
      expect(runs.length).toBe(before + 1)
    }
  })

  test('a minute of health resets the back-off', () => {
    for (let round = 0; round < 5; round += 1) {
      runs.at(-1)?.onExit('crashed')
      clock.advance(10_000)
    }
    const before = runs.length
    for (let second = 0; second < 61; second += 1) {
      speak()
      clock.advance(1_000)
    }
    runs.at(-1)?.onExit('crashed')
    clock.advance(250)
    expect(runs.length).toBe(before + 1)
  })

  test('restarts by order do not slow each other down', () => {
    for (let round = 0; round < 6; round += 1) {
      const before = runs.length
      supervisor.restart('asked by the operator')
      clock.advance(250)
      expect(runs.length).toBe(before + 1)
    }
  })

  /** Seconds of an engine that speaks. */
  const run = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      speak()
      clock.advance(1_000)
    }
  }
  const told = (kind: SupervisorNotice['kind']) => notices.filter((notice) => notice.kind === kind)

  test('a step of the wall clock is told once, and moves nothing for a minute', () => {
    run(5)
    clock.step(600_000)
    run(59)
    expect(told('clock-stepped')).toEqual([{ kind: 'clock-stepped', offMs: 600_000 }])
    expect(state()).toBe('available')
    expect(runs).toHaveLength(1)
  })

  test.each([600_000, -600_000])(
    'a step of %i ms that lasts is followed: nothing counts that was told before, a new run begins',
    (byMs) => {
      run(5)
      speak(documents)
      expect(replica.coins()).toEqual(['BTC'])
      clock.step(byMs)
      const beforeMs = clock.nowMs()
      run(62)
      expect(clock.nowMs()).toBe(beforeMs + byMs + 62_000)
      expect(told('clock-followed')).toEqual([{ kind: 'clock-followed', byMs }])
      expect(replica.coins()).toEqual([])
      expect(runs[0]?.wasKilled).toBe(true)
      expect(runs.map(({ isClockNew }) => isClockNew)).toEqual([false, true])
    },
  )

  test('what was saved before a step is of unknown age until an engine has run for a minute since', () => {
    run(5)
    clock.step(-600_000)
    run(62)
    expect(runs).toHaveLength(2)
    // The machine sleeps: the run is given up before it has saved anything.
    clock.advance(80_000)
    clock.advance(1_000)
    run(58)
    runs[2]?.onExit('crashed')
    run(62)
    runs[3]?.onExit('crashed')
    run(2)
    expect(runs.map(({ isClockNew }) => isClockNew)).toEqual([false, true, true, true, false])
  })

  test('a step that is put right is not followed', () => {
    run(5)
    clock.step(600_000)
    run(50)
    clock.step(-600_000)
    run(200)
    expect(told('clock-followed')).toEqual([])
    expect(runs).toHaveLength(1)
  })

  test('a clock that is slewed away is followed after a minute, too', () => {
    for (let second = 0; second < 40; second += 1) {
      clock.step(100)
      run(1)
    }
    expect(told('clock-stepped')).toEqual([])
    run(40)
    expect(told('clock-followed')).toEqual([])
    run(40)
    expect(told('clock-followed')).toHaveLength(1)
  })

  test('what the clock makes up for by itself needs no new run', () => {
    run(5)
    clock.step(2_900)
    run(200)
    expect(told('clock-stepped')).toHaveLength(1)
    expect(runs).toHaveLength(1)
  })

  test('the last words of a run that was killed are not heard', () => {
    speak()
    supervisor.restart('asked by the operator')
    runs[0]?.onMessage(heartbeat)
    expect(state()).toBe('unavailable')
  })

  test('the last words of a run that was replaced change nothing', () => {
    runs[0]?.onExit('crashed')
    clock.advance(250)
    runs[0]?.onMessage(heartbeat)
    expect(state()).toBe('unavailable')
  })

  test('stop waits for the engine and does not start another', async () => {
    speak()
    await supervisor.stop()
    clock.advance(60_000)
    expect(runs[0]?.wasStopped).toBe(true)
    expect(runs).toHaveLength(1)
    expect(runs[0]?.wasKilled).toBe(false)
  })

  test('stop kills an engine that hangs after 4 s', async () => {
    speak()
    isHanging = true
    const stopped = supervisor.stop()
    clock.advance(3_999)
    expect(runs[0]?.wasKilled).toBe(false)
    clock.advance(1)
    await stopped
    expect(runs[0]?.wasKilled).toBe(true)
    expect(runs).toHaveLength(1)
  })
})

type ScriptedRun = Parameters<SpawnEngine>[0] & { wasKilled: boolean; wasStopped: boolean }

/** Steady, beside a wall clock that somebody steps. */
class SteppedClock extends ManualClock {
  #offMs = 0

  step(byMs: number): void {
    this.#offMs += byMs
  }

  offMs(): number {
    return this.#offMs
  }

  followAtOnce(): void {
    this.putBack(-this.#offMs)
    this.#offMs = 0
  }
}
