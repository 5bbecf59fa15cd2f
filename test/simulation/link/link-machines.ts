import { documentKey, WHOLE_MARKET } from '../../../src/domain/document.ts'
import type { Lease } from '../../../src/link/broker/broker.ts'
import { Leadership } from '../../../src/link/broker/leadership.ts'
import { Mirror } from '../../../src/link/broker/mirror.ts'
import { Publisher } from '../../../src/link/broker/publisher.ts'
import { EngineReplica } from '../../../src/link/engine-replica.ts'
import {
  answeredDocument,
  HEARTBEAT,
  universeOf,
} from '../../../src/link/testing/engine-messages.ts'
import type { Chance } from '../chance.ts'
import type { Kernel } from '../kernel.ts'
import { LinkProcess } from './link-process.ts'
import type { Path, SimulatedServer } from './simulated-broker.ts'
import { SimulatedBroker } from './simulated-broker.ts'

const DELAY_MS = [0, 4] as const
const SLOW_MS = [100, 6_000] as const
const LATE_MS = [300, 6_000] as const
const LATE_SHARE = 0.2
const LOST_SHARE = 0.5
const RENDER_MS = [200, 1_500] as const
const HEARTBEAT_MS = 1_000
const analyses = ['pulse', 'spread'] as const

/** The state of the network and of the venue, which faults change. */
export class LinkWorld {
  readonly kernel: Kernel
  readonly server: SimulatedServer
  readonly chance: Chance
  coins: readonly string[]
  /** Requests of these machines and their replies may arrive late, and overtake others. */
  readonly late = new Set<string>()
  readonly slow = new Set<string>()
  readonly partitioned = new Set<string>()
  /** Frames to these machines are lost one by one. */
  readonly lossy = new Set<string>()
  /** Subscriptions of these machines end without a sign. */
  readonly unsubscribed = new Set<string>()
  /** Whether engines render anything. */
  isMarketOpen = true

  constructor(kernel: Kernel, server: SimulatedServer, chance: Chance, coins: readonly string[]) {
    this.kernel = kernel
    this.server = server
    this.chance = chance
    this.coins = coins
  }

  path(machine: string, process: LinkProcess): Path {
    const { chance } = this
    return {
      requestMs: () => {
        if (this.partitioned.has(machine)) return null
        if (this.late.has(machine) && chance.is(LATE_SHARE)) return chance.between(...LATE_MS)
        return chance.between(...DELAY_MS)
      },
      replyMs: () => {
        if (this.partitioned.has(machine)) return null
        if (this.late.has(machine) && chance.is(LATE_SHARE)) return chance.between(...LATE_MS)
        const [minMs, maxMs] = this.slow.has(machine) ? SLOW_MS : DELAY_MS
        return chance.between(minMs, maxMs)
      },
      isFrameLost: () => this.lossy.has(machine) && chance.is(LOST_SHARE),
      isUnsubscribed: () => this.unsubscribed.has(machine),
      chance: chance.next,
      deliver: (task) => process.deliver(task),
    }
  }
}

/** A machine whose process can be replaced. */
export type LinkEngine = {
  readonly process: LinkProcess
  readonly replica: EngineReplica
  readonly leadership: Leadership
  readonly publisher: Publisher
}

export function startEngine(
  world: LinkWorld,
  machine: string,
  onChange: (lease: Lease | null) => void,
): LinkEngine {
  const { kernel, chance } = world
  const process = new LinkProcess(kernel)
  const { clock } = process
  const monotonicMs = () => kernel.nowMs
  const replica = newReplica()
  const broker = new SimulatedBroker(world.server, world.path(machine, process))
  const leadership = new Leadership({
    ...{ broker, engineId: `${machine}-${chance.integer(0, 1e9)}`, clock, monotonicMs, onChange },
    isFit: () => replica.state(clock.nowMs()) === 'available',
  })
  const publisher = new Publisher({ broker, replica, leadership, clock, monotonicMs })
  let listed: readonly string[] = []
  let versions = 0
  const render = (coin: string, analysis: string) => {
    versions = Math.max(versions + 1, clock.nowMs() * 1_000)
    const text = JSON.stringify({ machine, analysis, coin, versions })
    const key = documentKey(analysis, coin)
    const document = answeredDocument(key, versions, clock.nowMs(), text)
    publisher.apply({ kind: 'documents', documents: [document] }, clock.nowMs())
  }
  const list = () => {
    if (listed === world.coins) return
    const added = world.coins.filter((coin) => !listed.includes(coin))
    listed = world.coins
    publisher.apply(universeOf(listed), clock.nowMs())
    for (const coin of added) for (const analysis of analyses) render(coin, analysis)
  }
  const renderSome = () => {
    clock.after(chance.between(...RENDER_MS) / (listed.length + 1), renderSome)
    list()
    if (world.isMarketOpen) render(chance.pick([...listed, WHOLE_MARKET]), chance.pick(analyses))
  }
  const beat = () => publisher.apply(HEARTBEAT, clock.nowMs())
  list()
  for (const analysis of analyses) render(WHOLE_MARKET, analysis)
  beat()
  clock.every(HEARTBEAT_MS, beat)
  renderSome()
  leadership.start()
  publisher.start()
  return { process, replica, leadership, publisher }
}

export type LinkGateway = {
  readonly process: LinkProcess
  readonly replica: EngineReplica
  readonly mirror: Mirror
}

export function startGateway(world: LinkWorld, machine: string): LinkGateway {
  const process = new LinkProcess(world.kernel)
  const replica = newReplica()
  const mirror = new Mirror({
    broker: new SimulatedBroker(world.server, world.path(machine, process)),
    replica,
    clock: process.clock,
    monotonicMs: () => world.kernel.nowMs,
    onNotice: () => {},
  })
  mirror.start()
  return { process, replica, mirror }
}

function newReplica(): EngineReplica {
  return new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
}
