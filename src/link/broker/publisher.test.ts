import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { DocumentKey } from '../../domain/document.ts'
import { tailOf } from '../../domain/document-bytes.ts'
import { EngineReplica } from '../engine-replica.ts'
import { answeredDocument } from '../testing/engine-messages.ts'
import type { Lease, Publication, PublishOutcome } from './broker.ts'
import { joined } from './broker.ts'
import { decodeFrame } from './frame.ts'
import { Publisher } from './publisher.ts'

describe('publisher', () => {
  let clock: ManualClock
  let publisher: Publisher
  let lease: Lease
  let sent: {
    readonly publication: Publication
    reply(outcome: PublishOutcome): void
    fail(): void
  }[]

  beforeEach(async () => {
    clock = new ManualClock()
    sent = []
    lease = { epoch: 7, token: '7:one' }
    publisher = new Publisher({
      replica: new EngineReplica({ analysis: 'pulse', view: '1h,4h' }),
      broker: {
        publish: (_, publication) =>
          new Promise((reply, reject) => {
            sent.push({ publication, reply, fail: () => reject(new Error('no reply in time')) })
          }),
        send: async () => true,
        retain: async () => true,
      },
      leadership: {
        get lease() {
          return lease
        },
        lost: () => {},
      },
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
  /** Base, versions of the documents by key, and number of documents of each publication. */
  const published = () =>
    sent.map(({ publication: { base, parts } }) => {
      const message = decodeFrame(joined(parts), 'channel')?.message
      if (message?.kind !== 'subject') throw new Error('it is not of a subject')
      expect(message.base).toBe(base)
      const versions = Object.fromEntries(
        message.documents.map(({ key, version }) => [key, version]),
      )
      return [base, versions, message.total]
    })
  const reply = async (outcome: PublishOutcome) => {
    sent.at(-1)?.reply(outcome)
    await pass(0)
  }

  test('publishes all changes of a coin in one frame, at once and once', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    const whole = [null, { 'pulse/BTC': 1, 'spread/BTC': 1 }, 2]
    expect(published()).toEqual([whole])
    await reply('published')
    await pass(2_000)
    expect(published()).toEqual([whole])
  })

  test('publishes changed documents alone, as a continuation of what is stored', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    await reply('published')
    render(2, 'spread/BTC')
    await reply('published')
    render(3, 'funding/BTC')
    const [first, second] = sent.map(({ publication }) => publication.sequence)
    expect(published().slice(1)).toEqual([
      [first, { 'spread/BTC': 2 }, 2],
      [second, { 'funding/BTC': 3 }, 3],
    ])
  })

  test('publishes the end of a document only if it differs from the stored one', async () => {
    const ends = () =>
      sent.map(({ publication: { base, parts } }) => [
        base !== null,
        [...parts.documents.keys()].filter((name) => name.endsWith('#')),
      ])
    for (const [version, text] of ['a', 'a', 'b', null].entries()) {
      const tail = text === null ? undefined : tailOf(text)
      const document = { ...answeredDocument('funding/BTC', version, version, '1'), tail }
      publisher.apply({ kind: 'documents', documents: [document] }, clock.nowMs())
      await reply('published')
    }
    expect(ends()).toEqual([
      [false, ['funding/BTC#']],
      [true, []],
      [true, ['funding/BTC#']],
      // What is stored is replaced, because an end cannot be removed.
      [false, []],
    ])
  })

  test('combines changes while a publication is in flight, and publishes them with its reply', async () => {
    render(1, 'pulse/BTC')
    render(2, 'pulse/BTC')
    await pass(1_000)
    render(3, 'pulse/BTC')
    expect(published()).toEqual([[null, { 'pulse/BTC': 1 }, 1]])
    await reply('published')
    expect(published().slice(1)).toEqual([[expect.any(Number), { 'pulse/BTC': 3 }, 1]])
  })

  test('confirms an unchanged coin after 10 s, without its documents', async () => {
    render(1, 'pulse/BTC')
    await reply('published')
    await pass(9_000)
    expect(sent).toHaveLength(1)
    await pass(1_100)
    expect(published().slice(1)).toEqual([[sent[0]?.publication.sequence, {}, 1]])
  })

  test.each(['older', 'incomplete'] as const)(
    'publishes everything after the outcome %s',
    async (outcome) => {
      render(1, 'pulse/BTC', 'spread/BTC')
      await reply('published')
      render(2, 'pulse/BTC')
      await reply(outcome)
      expect(published().slice(2)).toEqual([[null, { 'pulse/BTC': 2, 'spread/BTC': 1 }, 2]])
    },
  )

  test('publishes everything after a publication without a reply', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    await reply('published')
    render(2, 'pulse/BTC')
    sent.at(-1)?.fail()
    await pass(0)
    await pass(300)
    expect(published().slice(2)).toEqual([[null, { 'pulse/BTC': 2, 'spread/BTC': 1 }, 2]])
  })

  test('publishes everything in a new epoch, also if a reply of the former one arrives in it', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    await reply('published')
    render(2, 'pulse/BTC')
    lease = { epoch: 8, token: '8:one' }
    await pass(100)
    await reply('published')
    await pass(100)
    expect(published().slice(2)).toEqual([[null, { 'pulse/BTC': 2, 'spread/BTC': 1 }, 2]])
  })

  test('publishes everything once a document is gone', async () => {
    render(1, 'pulse/BTC', 'spread/BTC')
    await reply('published')
    publisher.forget()
    render(2, 'pulse/BTC')
    expect(published().slice(1)).toEqual([[null, { 'pulse/BTC': 2 }, 1]])
  })

  test('publishes what waited for a free place with the next reply', async () => {
    for (let coin = 0; coin < 40; coin += 1) render(1, `pulse/C${coin}`)
    expect(sent).toHaveLength(32)
    for (const { reply: answer } of sent.slice(0, 8)) answer('published')
    await pass(0)
    expect(sent).toHaveLength(40)
  })

  test('publishes every coin of a slow broker, though the first ones change all the time', async () => {
    for (let coin = 1; coin <= 40; coin += 1) render(1, `pulse/C${coin}`)
    for (let answered = 0; answered < 40; answered += 1) {
      for (let coin = 1; coin <= 32; coin += 1) render(2 + answered, `pulse/C${coin}`)
      sent[answered]?.reply('published')
      await pass(0)
    }
    expect(new Set(sent.map(({ publication }) => publication.subject)).size).toBe(40)
  })
})
