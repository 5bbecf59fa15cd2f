import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { packDocument } from '../../domain/packed-document.ts'
import { EngineReplica } from '../engine-replica.ts'
import { answeredDocument, HEARTBEAT, universeOf } from '../testing/engine-messages.ts'
import type { Subscriber } from './broker.ts'
import { joined } from './broker.ts'
import { carriedFrom } from './carried-document.ts'
import type { CarriedMessage } from './frame.ts'
import { FrameEncoder } from './frame.ts'
import { Mirror } from './mirror.ts'

const encoder = new FrameEncoder()

test('follows a broker whose epochs began again, and no document gets older', async () => {
  const clock = new ManualClock()
  const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  const rendered = () => replica.document('pulse/BTC')?.renderedAtMs
  let subscriber: Subscriber | undefined
  let stored: readonly Uint8Array[] = []
  let [epoch, sequence] = [9, 0]
  const frame = (message: CarriedMessage) => {
    sequence += 1
    return joined(encoder.encode({ epoch, sequence, message }))
  }
  const store = (renderedAtMs: number) => {
    const document = answeredDocument('pulse/BTC', renderedAtMs, renderedAtMs, 'text')
    const documents = [carriedFrom(packDocument(document), undefined)]
    const message = { kind: 'subject', subject: 'BTC', base: null, documents, total: 1 } as const
    stored = [frame(universeOf(['BTC']) as CarriedMessage), frame(message)]
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      subscriber?.onFrame(frame(HEARTBEAT as CarriedMessage))
      clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const mirror = new Mirror({
    broker: {
      subscribe: (own) => {
        subscriber = own
        queueMicrotask(own.onActive)
        return { close: () => {} }
      },
      snapshot: async (onFrame) => stored.forEach(onFrame),
    },
    replica,
    clock,
    monotonicMs: () => clock.nowMs(),
    onNotice: () => {},
  })
  mirror.start()
  expect(replica.isStarting, 'whether an engine of another process starts is unknown').toBe(false)
  store(500)
  await pass(2)
  expect([mirror.isReady, rendered()]).toEqual([true, 500])
  epoch = 8
  store(400)
  await pass(9)
  expect(mirror.epoch, 'it may be a delayed frame').toBe(9)
  await pass(5)
  expect([mirror.isReady, mirror.epoch, rendered()]).toEqual([true, 8, 500])
  expect(replica.state(clock.nowMs())).toBe('available')
  store(600)
  subscriber?.onActive()
  await pass(1)
  expect(rendered()).toBe(600)
})
