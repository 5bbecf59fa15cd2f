import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { DocumentKey } from '../../domain/document.ts'
import { EngineReplica } from '../engine-replica.ts'
import { answeredDocument } from '../testing/engine-messages.ts'
import type { PublishOutcome, SubjectFrame } from './broker.ts'
import { decodeFrame } from './frame.ts'
import { Publisher } from './publisher.ts'

describe('publisher', () => {
  let clock: ManualClock
  let publisher: Publisher
  let sent: { readonly frame: SubjectFrame; reply(outcome: PublishOutcome): void }[]

  beforeEach(async () => {
    clock = new ManualClock()
    sent = []
    publisher = new Publisher({
      replica: new EngineReplica({ analysis: 'pulse', view: '1h,4h' }),
      broker: {
        publish: (_, frame) => new Promise((reply) => sent.push({ frame, reply })),
        send: async () => true,
        retain: async () => true,
      },
      leadership: { lease: { epoch: 7, token: '7:one' }, lost: () => {} },
      clock,
      monotonicMs: () => clock.nowMs(),
    })
    publisher.start()
    await pass(100)
  })

  const pass = async (ms: number) => {
    clock.advance(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const render = (version: number, ...keys: DocumentKey[]) => {
    const documents = keys.map((key) => answeredDocument(key, version, version, `${version}`))
    publisher.apply({ kind: 'documents', documents }, clock.nowMs())
  }
  const published = () =>
    sent.map(({ frame }) => {
      const message = decodeFrame(frame.bytes)?.message
      return message?.kind === 'subject' ? message.documents.map(({ version }) => version) : []
    })

  test('publishes all changes of a coin in one frame, at once and once', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    expect(published()).toEqual([[1, 1]])
    sent[0]?.reply('published')
    await pass(2_000)
    expect(published()).toEqual([[1, 1]])
  })

  test('combines changes while a publication is in flight', async () => {
    render(1, 'pulse/BTC')
    render(2, 'pulse/BTC')
    await pass(1_000)
    render(3, 'pulse/BTC')
    expect(published()).toEqual([[1]])
    sent[0]?.reply('published')
    await pass(0)
    await pass(100)
    expect(published()).toEqual([[1], [3]])
  })

  test('publishes a coin four times a second at most', async () => {
    for (let version = 1; version <= 100; version += 1) {
      render(version, 'pulse/BTC')
      for (const { reply } of sent) reply('published')
      await pass(20)
    }
    expect(sent.length).toBeGreaterThan(6)
    expect(sent.length).toBeLessThanOrEqual(9)
  })

  test('publishes an unchanged coin again after 10 s', async () => {
    render(1, 'pulse/BTC')
    sent[0]?.reply('published')
    await pass(9_000)
    expect(sent).toHaveLength(1)
    await pass(1_100)
    expect(published()).toEqual([[1], [1]])
  })
})
