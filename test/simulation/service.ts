import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { Engine } from '../../src/engine/engine.ts'
import { synchronousRenderer } from '../../src/engine/market-renderer.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import type { EngineRun, SupervisorNotice } from '../../src/link/engine-supervisor.ts'
import { EngineSupervisor } from '../../src/link/engine-supervisor.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import type { Chance } from './chance.ts'
import type { Machine, Process } from './machine.ts'
import type { Network } from './network.ts'

const WS_URL = 'ws://venue/ws'
const INFO_URL = 'http://venue/info'
const WEIGHT_PER_MINUTE = 1_000
/** Time in which a thread starts, loads its code and opens its files. */
const LAUNCH_MS_MIN = 100
const LAUNCH_MS_SPAN = 200
/** Latency of a message between two threads. */
const MESSAGE_MS = 1
const ENGINE_FILES = ['engine', 'history', 'documents'].flatMap((name) => [
  `${name}.db`,
  `${name}.db-wal`,
])

export type ServiceOptions = {
  readonly machine: Machine
  readonly network: Network
  readonly chance: Chance
  /** Name and network address. */
  readonly name: string
  /** Directory of the service; every engine uses a new subdirectory. */
  readonly dir: string
  readonly log: Logger
  readonly onSaid: (message: EngineMessage) => void
  /** The message that reaches the gateway, or null; a test may alter it. */
  readonly carried?: (message: EngineMessage) => EngineMessage | null
  /** Called before an engine starts in a directory. */
  readonly onLaunch?: (dir: string) => void
  /** An uncaught exception ended the engine or the gateway. */
  readonly onDeath: (process: string, cause: unknown) => void
  readonly onNotice: (notice: SupervisorNotice) => void
}

/** One instance of the service: gateway and engine on one machine, without HTTP and payment. */
export class Service {
  readonly replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  readonly #options: ServiceOptions
  readonly #gateway: Process
  #engine: Process | null = null
  #engineDir: string | null = null
  #exited: ((reason: string) => void) | null = null
  #launches = 0

  constructor(options: ServiceOptions) {
    this.#options = options
    this.#gateway = options.machine.process((cause) => options.onDeath('gateway', cause))
    const supervisor = new EngineSupervisor({
      replica: this.replica,
      clock: this.#gateway.clock,
      spawn: (events) => this.#spawn(events),
      onNotice: (notice) => options.onNotice(notice),
    })
    this.#gateway.run(() => supervisor.start())
  }

  get machine(): Machine {
    return this.#options.machine
  }

  get nowMs(): number {
    return this.#gateway.clock.nowMs()
  }

  get launches(): number {
    return this.#launches
  }

  get isEngineRunning(): boolean {
    return this.#engine?.isAlive === true
  }

  /** Number of active timers of the engine. */
  get engineTimers(): number {
    return this.#engine?.timers ?? 0
  }

  get checkpointBytes(): number {
    return this.#checkpointFiles().reduce((sum, file) => sum + statSync(file).size, 0)
  }

  /** Like SIGKILL: memory is lost, files stay as they are. */
  crashEngine(): void {
    if (this.#engine === null) return
    this.#engine.kill()
    this.#exited?.('crashed')
  }

  close(): void {
    this.#gateway.kill()
    this.#engine?.kill()
  }

  #spawn({ onMessage, onExit, isClockNew }: Parameters<SpawnEngine>[0]): EngineRun {
    const { machine, network, chance, name, log, onSaid, carried, onDeath } = this.#options
    const engine: Process = machine.process((cause) => {
      onDeath('engine', cause)
      exited('uncaught exception')
    }, this.#gateway.clock.anchor())
    const exited = (reason: string) => {
      if (this.#engine !== engine) return
      this.#engine = null
      this.#exited = null
      this.#gateway.arrive(machine.kernel.nowMs + MESSAGE_MS, () => onExit(reason))
    }
    this.#engine = engine
    this.#exited = exited
    engine.startTimer(LAUNCH_MS_MIN + chance.between(0, LAUNCH_MS_SPAN), () => {
      Engine.start(
        {
          venue: { wsUrl: WS_URL, infoUrl: INFO_URL },
          weightPerMinute: WEIGHT_PER_MINUTE,
          dexes: 'auto',
          dataDir: this.#nextDir(),
          version: '0.0.0',
          isRestart: this.#launches > 1,
          isClockNew,
        },
        {
          clock: engine.clock,
          log,
          renderer: synchronousRenderer,
          runtime: {
            scheduler: engine.scheduler,
            random: chance.next,
            connect: network.connectOf(engine, name),
            post: network.postOf(engine, name),
          },
        },
        (said) => {
          onSaid(said)
          const message = carried ? carried(said) : said
          if (message === null) return
          this.#gateway.arrive(machine.kernel.nowMs + MESSAGE_MS, () => {
            if (this.#engine === engine) onMessage(message)
          })
        },
      )
    })
    const end = (reason: string) => {
      engine.kill()
      exited(reason)
    }
    return { kill: () => end('killed'), stop: () => end('stopped') }
  }

  /**
   * SQLite's lock belongs to the process, which here outlives the engine. The next engine therefore gets a
   * copy of the current files, as a killed process would leave them.
   */
  #nextDir(): string {
    this.#launches += 1
    const dir = join(this.#options.dir, `engine-${this.#launches}`)
    mkdirSync(dir, { recursive: true })
    for (const file of this.#checkpointFiles())
      copyFileSync(file, join(dir, file.slice(file.lastIndexOf('/') + 1)))
    this.#engineDir = dir
    this.#options.onLaunch?.(dir)
    return dir
  }

  #checkpointFiles(): readonly string[] {
    const dir = this.#engineDir
    if (dir === null) return []
    return ENGINE_FILES.map((file) => join(dir, file)).filter((file) => existsSync(file))
  }
}

type SpawnEngine = ConstructorParameters<typeof EngineSupervisor>[0]['spawn']
