import { beforeEach, describe, expect, test } from 'vitest'
import { BrokerState } from '../../test/simulation/link/broker-state.ts'
import { SimulatedBroker, SimulatedServer } from '../../test/simulation/link/simulated-broker.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import { documentKey, WHOLE_MARKET } from '../domain/document.ts'
import { Leadership } from './broker/leadership.ts'
import { Mirror } from './broker/mirror.ts'
import { Publisher } from './broker/publisher.ts'
import type { EngineReader } from './engine-replica.ts'
import { EngineReplica } from './engine-replica.ts'
import { EngineSupervisor } from './engine-supervisor.ts'
import type { EngineMessage } from './message.ts'
import { answeredDocument, HEARTBEAT, membersOf, universeOf } from './testing/engine-messages.ts'

/** Carries the messages of one engine to readers. */
type Carrier = {
  /** The reader of the first gateway. */
  readonly reader: EngineReader
  send(message: EngineMessage): void
  /** The engine ends without another message. */
  end(): void
  /** A new engine sends the kept messages, as an engine does when it starts. */
  restart(kept: readonly EngineMessage[]): void
  /** A gateway that starts now. */
  join(): EngineReader
}

const STEP_MS = 50

describe.each([
  ['of the threads', threadCarrier],
  ['of the broker', brokerCarrier],
] as const)('the carrier %s', (_, newCarrier) => {
  let clock: ManualClock
  let carrier: Carrier

  /** Every delay of the broker is shorter than a step. */
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      clock.advance(STEP_MS)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const send = async (...messages: EngineMessage[]) => {
    for (const message of messages) carrier.send(message)
    await pass(2_000)
  }
  const carried = (key: DocumentKey, reader = carrier.reader) => {
    const found = reader.document(key)
    return found && membersOf(found)
  }
  const state = () => carrier.reader.state(clock.nowMs())

  beforeEach(async () => {
    clock = new ManualClock()
    carrier = newCarrier(clock)
    await send(universeOf(['BTC', 'ETH']), HEARTBEAT)
  })

  test('carries every document as it is', async () => {
    const documents = [document('pulse', 'BTC', 1), document('regime', WHOLE_MARKET, 2)]
    await send({ kind: 'documents', documents })
    expect(documents.map(({ key }) => carried(key))).toEqual(documents.map(membersOf))
    expect(carrier.reader.coins()).toEqual(['BTC'])
    expect(state()).toBe('available')
  })

  test('the newest version of a document wins', async () => {
    await send(documents(document('pulse', 'BTC', 1)), documents(document('spread', 'BTC', 2)))
    await send(documents(document('pulse', 'BTC', 5)), documents(document('pulse', 'BTC', 4)))
    expect(carried('pulse/BTC')).toEqual(membersOf(document('pulse', 'BTC', 5)))
    expect(carried('spread/BTC')).toEqual(membersOf(document('spread', 'BTC', 2)))
  })

  test('a gateway that starts later gets the newest documents', async () => {
    await send(documents(document('pulse', 'BTC', 1)))
    await send(documents(document('pulse', 'BTC', 2)), HEARTBEAT)
    const late = carrier.join()
    await pass(2_000)
    carrier.send(HEARTBEAT)
    await pass(2_000)
    expect(carried('pulse/BTC', late)).toEqual(membersOf(document('pulse', 'BTC', 2)))
    expect(late.resolve('eth')).toEqual({ coin: 'ETH' })
    expect(late.state(clock.nowMs())).toBe('available')
  })

  test('without an engine it is unavailable, and the documents stay', async () => {
    await send(documents(document('pulse', 'BTC', 1)))
    carrier.end()
    await pass(11_000)
    expect(state()).toBe('unavailable')
    expect(carried('pulse/BTC')).toEqual(membersOf(document('pulse', 'BTC', 1)))
  })

  test('an engine without messages for 15 s is silent, until it sends one', async () => {
    await pass(12_000)
    expect(state()).toBe('available')
    await pass(5_000)
    expect(state()).toBe('silent')
    await send(HEARTBEAT)
    expect(state()).toBe('available')
  })

  test('a delisted coin goes away, and does not come back with a later gateway', async () => {
    await send(documents(document('pulse', 'BTC', 1), document('pulse', 'ETH', 2)))
    await send(universeOf(['ETH']))
    const late = carrier.join()
    await pass(2_000)
    for (const reader of [carrier.reader, late]) {
      expect(reader.document('pulse/BTC')).toBeUndefined()
      expect(reader.document('pulse/ETH')).toBeDefined()
      expect(reader.resolve('btc')).toBeUndefined()
    }
  })

  test('after a restart of the engine no document is older than before', async () => {
    await send(documents(document('pulse', 'BTC', 3)))
    carrier.end()
    await pass(1_000)
    carrier.restart([universeOf(['BTC', 'ETH']), documents(document('pulse', 'BTC', 2)), HEARTBEAT])
    for (let second = 0; second < 5; second += 1) {
      await pass(1_000)
      expect(carrier.reader.document('pulse/BTC')?.version).toBe(3)
    }
    await send(documents(document('pulse', 'BTC', 4)))
    expect(carrier.reader.document('pulse/BTC')?.version).toBe(4)
    expect(state()).toBe('available')
  })
})

function threadCarrier(clock: ManualClock): Carrier {
  type Events = { onMessage(message: EngineMessage): void; onExit(reason: string): void }
  let kept: readonly EngineMessage[] = []
  const gateway = () => {
    const replica = newReplica()
    let run: Events | null = null
    const supervisor = new EngineSupervisor({
      spawn: (events) => {
        run = events
        for (const message of kept) events.onMessage(message)
        return { kill: () => events.onExit('killed'), stop: () => events.onExit('stopped') }
      },
      replica,
      clock: Object.assign(clock, { offMs: () => 0, followAtOnce: () => {} }),
      onNotice: () => {},
    })
    supervisor.start()
    return { replica, run: () => run }
  }
  const first = gateway()
  const sent: EngineMessage[] = []
  return {
    reader: first.replica,
    send: (message) => {
      sent.push(message)
      first.run()?.onMessage(message)
    },
    end: () => first.run()?.onExit('crashed'),
    restart: (messages) => {
      kept = messages
    },
    join: () => {
      kept = sent
      return gateway().replica
    },
  }
}

function brokerCarrier(clock: ManualClock): Carrier {
  const monotonicMs = () => clock.nowMs()
  const tap = { onPublished: () => {}, onSent: () => {} }
  const server = new SimulatedServer(new BrokerState(), clock, tap)
  const path = {
    requestMs: () => 1,
    replyMs: () => 1,
    isFrameLost: () => false,
    isUnsubscribed: () => false,
    chance: () => 0.5,
    deliver: (task: () => void) => task(),
  }
  const engine = (engineId: string) => {
    const broker = new SimulatedBroker(server, path)
    const replica = newReplica()
    const leadership = new Leadership({
      ...{ broker, engineId, clock, monotonicMs },
      isFit: () => replica.state(clock.nowMs()) === 'available',
      onChange: () => {},
    })
    const publisher = new Publisher({ broker, replica, leadership, clock, monotonicMs })
    leadership.start()
    publisher.start()
    return publisher
  }
  const join = () => {
    const replica = newReplica()
    const broker = new SimulatedBroker(server, path)
    new Mirror({ broker, replica, clock, monotonicMs, onNotice: () => {} }).start()
    return replica
  }
  let publisher = engine('first')
  return {
    reader: join(),
    join,
    send: (message) => publisher.apply(message, clock.nowMs()),
    end: () => publisher.disconnected(),
    restart: (kept) => {
      publisher = engine('second')
      for (const message of kept) publisher.apply(message, clock.nowMs())
    },
  }
}

function newReplica(): EngineReplica {
  return new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
}

function documents(...all: readonly Document[]): EngineMessage {
  return { kind: 'documents', documents: all }
}

/** Later versions were rendered later. */
function document(analysis: string, subject: string, version: number): Document {
  const key = documentKey(analysis, subject)
  return answeredDocument(key, version, version * 1_000, JSON.stringify({ version }))
}
