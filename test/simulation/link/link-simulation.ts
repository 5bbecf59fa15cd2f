import { crc32 } from 'node:zlib'
import { WHOLE_MARKET } from '../../../src/domain/document.ts'
import { Chance } from '../chance.ts'
import type { Violation } from '../findings.ts'
import { Findings } from '../findings.ts'
import { Kernel } from '../kernel.ts'
import type { BrokerDefect } from './broker-state.ts'
import { BrokerState } from './broker-state.ts'
import { HEALED_MS, LinkChecker } from './link-checker.ts'
import type { LinkEngine, LinkGateway } from './link-machines.ts'
import { LinkWorld, startEngine, startGateway } from './link-machines.ts'
import { SimulatedServer } from './simulated-broker.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const FAULTY_MS = 30_000
/** A change of leader is complete after 15 s, and everything is published again within 10 s. */
const QUIET_MS = 27_000
const CHECK_PERIOD_MS = 100
/** A lost frame is noticed with the next one of its subject, which follows within this time. */
const CONFIRMED_MS = 10_000
const FAULTS = [3, 9] as const
const COINS = ['BTC', 'ETH', 'kPEPE'] as const
const LATER_COIN = 'NEW'
const engineMachines = ['engine-1', 'engine-2'] as const
const gatewayMachines = ['gateway-1', 'gateway-2'] as const
/** More than the longest chain of promises that one event settles. */
const MICROTASKS = 12

export const linkFaultKinds = [
  'kill-engine',
  'stop-engine',
  'freeze-engine',
  'crash-engine-thread',
  'partition-engine',
  'late-requests',
  'kill-gateway',
  'freeze-gateway',
  'partition-gateway',
  'slow-gateway',
  'lose-subscription',
  'lose-frames',
  'broker-restart',
  'broker-data-lost',
  'broker-evicts',
  'list',
  'delist',
] as const

export type LinkFaultKind = (typeof linkFaultKinds)[number]

export type LinkOptions = {
  readonly seed: number
  readonly defect?: BrokerDefect
  readonly onStory?: (atMs: number, text: string) => void
}

export type LinkResult = {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly counts: Readonly<Record<string, number>>
  readonly faults: Readonly<Partial<Record<LinkFaultKind, number>>>
  readonly virtualMs: number
  readonly published: number
  /** Checksum of all publications. */
  readonly digest: number
}

/** Two engines and two gateways with the real parts of the link, around a broker that can lose everything. */
export async function simulateLink(options: LinkOptions): Promise<LinkResult> {
  return new LinkSimulation(options).run()
}

class LinkSimulation {
  readonly #options: LinkOptions
  readonly #kernel = new Kernel(START_MS)
  readonly #chance: Chance
  readonly #findings: Findings
  readonly #checker: LinkChecker
  readonly #state: BrokerState
  readonly #world: LinkWorld
  readonly #engines = new Map<string, LinkEngine>()
  readonly #gateways = new Map<string, LinkGateway>()
  readonly #faults: Partial<Record<LinkFaultKind, number>> = {}
  #active = 0
  #healedAtMs = START_MS
  #published = 0
  #digest = 0

  constructor(options: LinkOptions) {
    this.#options = options
    this.#chance = new Chance(options.seed, 'link')
    this.#findings = new Findings(({ what, detail, coin, atMs }) =>
      options.onStory?.(atMs, `VIOLATION ${what} ${coin ?? ''} ${detail}`),
    )
    this.#checker = new LinkChecker(this.#findings, () => this.#kernel.nowMs)
    this.#state = new BrokerState(options.defect)
    const server = new SimulatedServer(this.#state, this.#kernel.clock, {
      onPublished: (lease, frame, before) => {
        this.#published += 1
        this.#digest = crc32(
          `${this.#kernel.nowMs} ${frame.subject} ${lease.epoch} ${frame.sequence}`,
          this.#digest,
        )
        this.#checker.published(lease, frame, before)
      },
      onSent: (lease) => this.#checker.sent(lease),
    })
    this.#world = new LinkWorld(this.#kernel, server, this.#chance, COINS)
  }

  async run(): Promise<LinkResult> {
    for (const machine of engineMachines) this.#startEngine(machine)
    for (const machine of gatewayMachines) this.#startGateway(machine)
    const faults = this.#chance.integer(...FAULTS)
    for (let count = 0; count < faults; count += 1) {
      const atMs = START_MS + this.#chance.between(0, FAULTY_MS)
      this.#kernel.at(Math.ceil(atMs), null, () => this.#inject(this.#chance.pick(linkFaultKinds)))
    }
    this.#kernel.clock.every(CHECK_PERIOD_MS, () => this.#check())
    await this.#runUntil(START_MS + FAULTY_MS)
    // The last fault may last longer.
    while (this.#active > 0) await this.#runUntil(this.#kernel.nowMs + 1_000)
    await this.#runUntil(this.#kernel.nowMs + HEALED_MS + 1_000)
    this.#world.isMarketOpen = false
    await this.#runUntil(this.#kernel.nowMs + QUIET_MS)
    const { coins } = this.#world
    const gateways = [...this.#gateways.values()]
    this.#checker.end(gateways, this.#leader(), coins, [...COINS, LATER_COIN])
    const { violations, counts } = this.#findings
    return {
      ...{ seed: this.#options.seed, violations, counts, faults: this.#faults },
      virtualMs: this.#kernel.nowMs - START_MS,
      published: this.#published,
      digest: this.#digest,
    }
  }

  /** Promises that an event settles have their effects before the next event. */
  async #runUntil(untilMs: number): Promise<void> {
    while (this.#kernel.runNext(untilMs))
      for (let count = 0; count < MICROTASKS; count += 1) await null
    this.#kernel.runUntil(untilMs)
  }

  #startEngine(machine: string): void {
    const engine = startEngine(this.#world, machine, (lease) => {
      this.#story(`${machine} ${lease === null ? 'leads no longer' : `leads, ${lease.epoch}`}`)
      if (lease !== null) this.#checker.acquired([...this.#engines.values()])
    })
    this.#engines.set(machine, engine)
  }

  #startGateway(machine: string): void {
    this.#gateways.set(machine, startGateway(this.#world, machine))
  }

  #leader(): LinkEngine | undefined {
    return [...this.#engines.values()].find(({ leadership }) => leadership.lease !== null)
  }

  #check(): void {
    const { coins } = this.#world
    const isHealthy = this.#active === 0 && this.#kernel.nowMs - this.#healedAtMs > HEALED_MS
    for (const gateway of this.#gateways.values()) {
      if (this.#world.isMarketOpen) this.#checker.gateway(gateway, coins)
      if (isHealthy) this.#checker.healthy(gateway, this.#leader(), coins)
    }
  }

  #inject(kind: LinkFaultKind): void {
    const chance = this.#chance
    const engine = chance.pick(engineMachines)
    const gateway = chance.pick(gatewayMachines)
    const { server, partitioned, late, slow } = this.#world
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1
    this.#story(`${kind} ${kind.includes('gateway') ? gateway : engine}`)
    switch (kind) {
      case 'kill-engine':
        this.#engines.get(engine)?.process.kill()
        this.#heal(chance.between(500, 4_000), () => this.#replaceEngine(engine))
        break
      case 'stop-engine':
        void this.#engines.get(engine)?.leadership.stop()
        this.#heal(chance.between(500, 4_000), () => this.#replaceEngine(engine))
        break
      case 'freeze-engine': {
        const process = this.#engines.get(engine)?.process
        process?.freeze()
        this.#heal(chance.between(500, 8_000), () => process?.resume())
        break
      }
      case 'crash-engine-thread':
        this.#engines.get(engine)?.publisher.disconnected()
        this.#heal(0, () => {})
        break
      case 'partition-engine':
        this.#during(partitioned, engine, chance.between(200, 8_000))
        break
      case 'late-requests':
        this.#during(late, engine, chance.between(1_000, 8_000))
        break
      case 'kill-gateway':
        this.#gateways.get(gateway)?.process.kill()
        this.#heal(chance.between(200, 2_000), () => {
          this.#gateways.get(gateway)?.mirror.stop()
          this.#startGateway(gateway)
        })
        break
      case 'freeze-gateway': {
        const process = this.#gateways.get(gateway)?.process
        process?.freeze()
        this.#heal(chance.between(500, 12_000), () => process?.resume())
        break
      }
      case 'partition-gateway':
        this.#during(partitioned, gateway, chance.between(200, 12_000))
        break
      case 'slow-gateway':
        this.#during(slow, gateway, chance.between(1_000, 8_000))
        break
      case 'lose-subscription':
        this.#during(this.#world.unsubscribed, gateway, chance.between(50, 2_000))
        break
      case 'lose-frames': {
        const { lossy } = this.#world
        const durationMs = chance.between(50, 8_000)
        lossy.add(gateway)
        this.#kernel.clock.after(durationMs, () => lossy.delete(gateway))
        this.#heal(durationMs + CONFIRMED_MS, () => {})
        break
      }
      case 'broker-restart':
      case 'broker-data-lost':
        server.kill()
        if (kind === 'broker-data-lost') {
          this.#state.loseData()
          this.#checker.lostData()
        }
        this.#heal(chance.between(50, 5_000), () => {
          server.isUp = true
        })
        break
      case 'broker-evicts':
        this.#state.evict(chance.pick([...this.#world.coins, WHOLE_MARKET]))
        this.#heal(CONFIRMED_MS, () => {})
        break
      case 'list':
        this.#world.coins = [...COINS, LATER_COIN]
        this.#heal(0, () => {})
        break
      case 'delist':
        this.#world.coins = [...COINS]
        this.#heal(0, () => {})
        break
      default:
        kind satisfies never
    }
  }

  #replaceEngine(machine: string): void {
    this.#engines.get(machine)?.process.kill()
    this.#startEngine(machine)
  }

  #during(machines: Set<string>, machine: string, durationMs: number): void {
    machines.add(machine)
    this.#heal(durationMs, () => machines.delete(machine))
  }

  #heal(afterMs: number, task: () => void): void {
    this.#active += 1
    this.#kernel.clock.after(afterMs, () => {
      this.#active -= 1
      this.#healedAtMs = this.#kernel.nowMs
      task()
    })
  }

  #story(text: string): void {
    this.#options.onStory?.(this.#kernel.nowMs, text)
  }
}
