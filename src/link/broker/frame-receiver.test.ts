import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { documentKey, WHOLE_MARKET } from '../../domain/document.ts'
import { EngineReplica } from '../engine-replica.ts'
import { answeredDocument, HEARTBEAT, universeOf } from '../testing/engine-messages.ts'
import type { CarriedMessage } from './frame.ts'
import { FrameEncoder } from './frame.ts'
import { FrameReceiver } from './frame-receiver.ts'

const NOW_MS = 1_000_000
const HANDOVER_MS = 15_000
const coins = ['BTC', 'ETH', 'kPEPE'] as const
const encoder = new FrameEncoder()

/** What leaders publish in sequence: lists, of which coins are removed, and documents of coins that are listed. */
const histories = fc
  .array(
    fc.oneof(
      fc.record({
        kind: fc.constant('universe'),
        coins: fc.subarray([...coins], { minLength: 1 }),
      }),
      fc.record({ kind: fc.constant('subject'), subject: fc.constantFrom(...coins, WHOLE_MARKET) }),
      fc.record({ kind: fc.constant('next-leader') }),
    ),
    { minLength: 1, maxLength: 20 },
  )
  .map((steps) => {
    let [epoch, sequence, renderedAtMs] = [1, 0, 0]
    let listed: readonly string[] = coins
    const frames = [encoder.encode({ epoch: 1, sequence: 0.5, message: listOf(coins) })]
    for (const step of steps) {
      sequence += 1
      renderedAtMs += 1
      if (step.kind === 'next-leader') {
        epoch += 1
        sequence = 0
        frames.push(encoder.encode({ epoch, sequence: 0.5, message: listOf(listed) }))
      } else if ('coins' in step) {
        listed = listed.filter((coin) => step.coins.some((kept) => kept === coin))
        frames.push(encoder.encode({ epoch, sequence, message: listOf(listed) }))
      } else if ('subject' in step && isListed(step.subject, listed)) {
        const { subject } = step
        // Versions of another leader can be lower.
        const version = sequence
        frames.push(
          encoder.encode({ epoch, sequence, message: of(subject, version, renderedAtMs) }),
        )
      }
    }
    return frames
  })

describe('frame receiver', () => {
  test.prop([histories, fc.infiniteStream(fc.nat())])(
    'has the same state after any order of arrival, with repetitions',
    (frames, order) => {
      const inOrder = stateAfter(frames)
      const shuffled = frames
        .flatMap((frame) => [frame, frame])
        .map((frame) => ({ frame, at: order.next().value ?? 0 }))
        .toSorted((one, other) => one.at - other.at)
        .map(({ frame }) => frame)
      expect(stateAfter(shuffled)).toEqual(inOrder)
    },
  )

  test('a later rendering of the former leader stays, but not for ever', () => {
    const { replica, receiver, pass } = received()
    const rendered = () => replica.document('pulse/BTC')?.renderedAtMs
    receiver.receive(encoder.encode({ epoch: 1, sequence: 9, message: of('BTC', 9, 500) }))
    receiver.receive(encoder.encode({ epoch: 2, sequence: 1, message: of('BTC', 1, 400) }))
    expect(rendered()).toBe(500)
    pass(HANDOVER_MS - 1)
    receiver.receive(encoder.encode({ epoch: 2, sequence: 2, message: of('BTC', 1, 400) }))
    expect(rendered()).toBe(500)
    pass(1)
    receiver.receive(encoder.encode({ epoch: 2, sequence: 3, message: of('BTC', 1, 400) }))
    expect(rendered()).toBe(400)
  })

  test('a document of a new leader is read, also with the version of the held one', () => {
    const { replica, receiver } = received()
    receiver.receive(encoder.encode({ epoch: 1, sequence: 9, message: of('BTC', 5, 400) }))
    receiver.receive(encoder.encode({ epoch: 2, sequence: 1, message: of('BTC', 5, 500) }))
    expect(replica.document('pulse/BTC')?.renderedAtMs).toBe(500)
  })

  test('an unchanged document stays the same object', () => {
    const { replica, receiver } = received()
    receiver.receive(encoder.encode({ epoch: 1, sequence: 1, message: of('BTC', 5, 400) }))
    const held = replica.document('pulse/BTC')
    receiver.receive(encoder.encode({ epoch: 1, sequence: 2, message: of('BTC', 5, 400) }))
    expect(replica.document('pulse/BTC')).toBe(held)
  })

  test('only heartbeats of the newest leader count', () => {
    const { receiver } = received()
    const beat = (epoch: number, sequence: number) =>
      receiver.receive(encoder.encode({ epoch, sequence, message: null }))
    const receipts = [beat(2, 5), beat(2, 5), beat(2, 4), beat(1, 9), beat(2, 6)]
    expect(receipts).toEqual(['heartbeat', 'older', 'older', 'older', 'heartbeat'])
  })

  test('stored documents and lists do not prove that an engine works', () => {
    const { replica, receiver } = received()
    receiver.receive(encoder.encode({ epoch: 1, sequence: 1, message: listOf(coins) }))
    receiver.receive(encoder.encode({ epoch: 1, sequence: 2, message: of('BTC', 1, 1) }))
    expect(replica.state(NOW_MS)).toBe('unavailable')
    if (HEARTBEAT.kind !== 'heartbeat') throw new Error('not a heartbeat')
    receiver.receive(encoder.encode({ epoch: 1, sequence: 3, message: HEARTBEAT }))
    expect(replica.state(NOW_MS)).toBe('available')
  })
})

function received() {
  let monotonicMs = 0
  const replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  const receiver = new FrameReceiver(
    replica,
    () => NOW_MS,
    () => monotonicMs,
  )
  const pass = (ms: number) => {
    monotonicMs += ms
  }
  return { replica, receiver, pass }
}

function stateAfter(frames: readonly Uint8Array[]): unknown {
  const { replica, receiver } = received()
  for (const frame of frames) receiver.receive(frame)
  const subjects = [...coins, WHOLE_MARKET].map((subject) => replica.documentsOf(subject))
  return { subjects, coins: replica.coins(), listed: replica.listed }
}

function isListed(subject: string, listed: readonly string[]): boolean {
  return subject === WHOLE_MARKET || listed.includes(subject)
}

function listOf(listed: readonly string[]): CarriedMessage {
  const message = universeOf(listed)
  if (message.kind !== 'universe') throw new Error('not a list')
  return message
}

function of(subject: string, version: number, renderedAtMs: number): CarriedMessage {
  const key = documentKey(subject === WHOLE_MARKET ? 'regime' : 'pulse', subject)
  const text = JSON.stringify({ subject, version, renderedAtMs })
  return {
    kind: 'subject',
    subject,
    documents: [answeredDocument(key, version, renderedAtMs, text)],
  }
}
