import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Document, DocumentKey } from '../../domain/document.ts'
import { documentKey, WHOLE_MARKET } from '../../domain/document.ts'
import { tailOf } from '../../domain/document-bytes.ts'
import type { PackedDocument } from '../../domain/packed-document.ts'
import { packDocument } from '../../domain/packed-document.ts'
import { ownDocuments } from '../../domain/placed-document.ts'
import { EngineReplica } from '../engine-replica.ts'
import { answeredDocument, HEARTBEAT, membersOf, universeOf } from '../testing/engine-messages.ts'
import { joined } from './broker.ts'
import type { CarriedDocument } from './carried-document.ts'
import { carriedFrom } from './carried-document.ts'
import type { CarriedMessage, CarrierFrame } from './frame.ts'
import { FrameEncoder } from './frame.ts'
import { FrameReceiver } from './frame-receiver.ts'

const NOW_MS = 1_000_000
const HANDOVER_MS = 15_000
const coins = ['BTC', 'ETH', 'kPEPE'] as const
const encoder = new FrameEncoder()
const encoded = (frame: CarrierFrame) => joined(encoder.encode(frame))

const analyses = [0, 1] as const
/** Whether a coin is ready depends on its pulse; the whole market has none. */
const analysisOf = (analysis: number, subject: string) =>
  (subject === WHOLE_MARKET ? ['regime', 'screener'] : ['pulse', 'spread'])[analysis] ?? ''
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('list'), coins: fc.subarray([...coins], { minLength: 1 }) }),
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('render'),
        subject: fc.constantFrom(...coins, WHOLE_MARKET),
        changed: fc.subarray([...analyses]),
      }),
    },
    fc.record({ kind: fc.constant('next-leader') }),
  ),
  { minLength: 1, maxLength: 20 },
)

/** Frames in sequence, what the broker stores after them, and every state of each subject. */
type History = {
  readonly frames: readonly Uint8Array[]
  readonly stored: readonly Uint8Array[]
  readonly states: ReadonlyMap<string, ReadonlySet<string>>
}

/** What leaders publish: lists, of which coins are removed, and changed documents of coins that are listed. */
const histories = steps.map((all): History => {
  let [epoch, sequence, version] = [1, 0, 0]
  let listed: readonly string[] = coins
  const frames: Uint8Array[] = []
  const held = new Map<string, { base: number | null; documents: Map<string, PackedDocument> }>()
  const states = new Map<string, Set<string>>()
  const stored = new Map<string, Uint8Array>()
  const publish = (subject: string, message: CarriedMessage, whole = message) => {
    sequence += 1
    frames.push(encoded({ epoch, sequence, message }))
    stored.set(subject, encoded({ epoch, sequence, message: whole }))
  }
  publish('#universe', listOf(listed))
  for (const step of all) {
    if ('coins' in step) {
      listed = listed.filter((coin) => step.coins.some((kept) => kept === coin))
      publish('#universe', listOf(listed))
      for (const coin of coins) if (!listed.includes(coin)) stored.delete(coin)
    } else if (!('subject' in step)) {
      epoch += 1
      // Versions of another leader can be lower.
      version = 0
      sequence = 0
      held.clear()
      publish('#universe', listOf(listed))
    } else if (isListed(step.subject, listed)) {
      const { subject } = step
      const { base, documents } = held.get(subject) ?? { base: null, documents: new Map() }
      const changed = (base === null ? analyses : step.changed).map((analysis) => {
        version += 1
        const text = JSON.stringify({ epoch, version })
        const key = documentKey(analysisOf(analysis, subject), subject)
        return packDocument(answeredDocument(key, version, epoch * 1_000 + version, text))
      })
      for (const document of changed) documents.set(document.key, document)
      const total = documents.size
      const whole = [...documents.values()]
      const change = { kind: 'subject', subject, total } as const
      publish(
        subject,
        { ...change, base, documents: changed.map(carried) },
        { ...change, base: null, documents: whole.map(carried) },
      )
      held.set(subject, { base: sequence, documents })
      states.set(subject, (states.get(subject) ?? new Set()).add(textOf(whole)))
    }
  }
  return { frames, stored: [...stored.values()], states }
})

describe('frame receiver', () => {
  test.prop([histories, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.nat(3))])(
    'has the newest state after any order of arrival, with losses and repetitions, and the snapshot',
    ({ frames, stored }, order, copies) => {
      const inOrder = received()
      for (const frame of frames) expect(inOrder.receiver.receive(frame, 'channel')).toBe('applied')
      const { receiver, state } = received()
      const arriving = frames
        .flatMap((frame) => Array<Uint8Array>(copies.next().value ?? 1).fill(frame))
        .map((frame) => ({ frame, at: order.next().value ?? 0 }))
        .toSorted((one, other) => one.at - other.at)
      for (const { frame } of arriving) receiver.receive(frame, 'channel')
      for (const frame of stored) receiver.receive(frame, 'store')
      for (const { frame } of arriving) receiver.receive(frame, 'channel')
      expect(state()).toEqual(inOrder.state())
    },
  )

  test.prop([histories, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.nat(2))])(
    'shows no state of a subject that no leader had',
    ({ frames, states }, order, copies) => {
      const { replica, receiver } = received()
      const arriving = frames
        .flatMap((frame) => Array<Uint8Array>(copies.next().value ?? 1).fill(frame))
        .map((frame) => ({ frame, at: order.next().value ?? 0 }))
        .toSorted((one, other) => one.at - other.at)
      for (const { frame } of arriving) {
        receiver.receive(frame, 'channel')
        for (const [subject, known] of states) {
          const documents = ownDocuments(replica.documentsOf(subject))
          if (documents.length > 0) expect(known).toContain(textOf(documents))
        }
      }
    },
  )

  test('notices that a frame before a change is missing, and continues after the snapshot', () => {
    const { replica, receiver } = received()
    const [pulse, spread] = ['pulse/BTC', 'spread/BTC'] as const
    const change = (sequence: number, base: number | null, ...documents: PackedDocument[]) =>
      encoded({
        ...{ epoch: 1, sequence },
        message: {
          ...{ kind: 'subject', subject: 'BTC', base, total: 2 },
          documents: documents.map(carried),
        },
      })
    const document = (key: DocumentKey, version: number) =>
      packDocument(answeredDocument(key, version, version, `${version}`))
    const versions = () => [pulse, spread].map((key) => replica.document(key)?.version)
    receiver.receive(change(1, null, document(pulse, 1), document(spread, 2)), 'channel')
    const incomplete = { kind: 'incomplete', subject: 'BTC' }
    expect(receiver.receive(change(3, 2, document(spread, 4)), 'channel')).toEqual(incomplete)
    expect(versions()).toEqual([1, 2])
    receiver.receive(change(3, 2, document(pulse, 3), document(spread, 4)), 'store')
    expect(versions()).toEqual([3, 4])
    expect(receiver.receive(change(4, 3, document(pulse, 5)), 'channel')).toBe('applied')
    expect(versions()).toEqual([5, 4])
    expect(receiver.receive(change(5, 4), 'channel')).toBe('applied')
    expect(receiver.receive(change(7, 6), 'channel')).toEqual(incomplete)
  })

  test('a later rendering of the former leader stays, but not for ever', () => {
    const { replica, receiver, pass } = received()
    const rendered = () => replica.document('pulse/BTC')?.renderedAtMs
    receiver.receive(encoded({ epoch: 1, sequence: 9, message: of('BTC', 9, 500) }), 'channel')
    receiver.receive(encoded({ epoch: 2, sequence: 1, message: of('BTC', 1, 400) }), 'channel')
    expect(rendered()).toBe(500)
    pass(HANDOVER_MS - 1)
    receiver.receive(encoded({ epoch: 2, sequence: 2, message: of('BTC', 1, 400) }), 'channel')
    expect(rendered()).toBe(500)
    pass(1)
    // The leader that replaced it confirms what it has.
    receiver.receive(encoded({ epoch: 2, sequence: 3, message: of('BTC', 1, 400) }), 'channel')
    expect(rendered()).toBe(400)
  })

  test('a document of a new leader is read, also with the version of the held one', () => {
    const { replica, receiver } = received()
    receiver.receive(encoded({ epoch: 1, sequence: 9, message: of('BTC', 5, 400) }), 'channel')
    receiver.receive(encoded({ epoch: 2, sequence: 1, message: of('BTC', 5, 500) }), 'channel')
    expect(replica.document('pulse/BTC')?.renderedAtMs).toBe(500)
  })

  test('an unchanged document stays the same object', () => {
    const { replica, receiver } = received()
    receiver.receive(encoded({ epoch: 1, sequence: 1, message: of('BTC', 5, 400) }), 'channel')
    const held = replica.document('pulse/BTC')
    receiver.receive(encoded({ epoch: 1, sequence: 2, message: of('BTC', 5, 400) }), 'channel')
    expect(replica.document('pulse/BTC')).toBe(held)
  })

  test('the end of a document is kept until another one is carried', () => {
    const { replica, receiver } = received()
    const text = () => String(Buffer.from(replica.document('pulse/BTC')?.bytes ?? []))
    const document = (version: number, end: CarriedDocument['end']) => ({
      ...carried(packDocument(answeredDocument('pulse/BTC', version, version, `${version}`))),
      end,
    })
    const send = (sequence: number, base: number | null, end: CarriedDocument['end'], epoch = 1) =>
      receiver.receive(
        encoded({
          ...{ epoch, sequence },
          message: {
            ...{ kind: 'subject', subject: 'BTC', base, total: 2 },
            documents: [document(sequence, end)],
          },
        }),
        'channel',
      )
    expect(send(1, null, tailOf(' a'))).toBe('applied')
    expect(send(2, 1, 'held')).toBe('applied')
    expect(text()).toBe('2 a')
    expect(send(3, 2, tailOf(' b'))).toBe('applied')
    expect(send(4, 3, 'held')).toBe('applied')
    expect(text()).toBe('4 b')
    expect(send(1, null, 'held', 2), 'the end of another leader').toBe('refused')
    expect(text()).toBe('4 b')
  })

  test('only heartbeats of the newest leader count', () => {
    const { receiver } = received()
    const beat = (epoch: number, sequence: number) =>
      receiver.receive(encoded({ epoch, sequence, message: null }), 'channel')
    const receipts = [beat(2, 5), beat(2, 5), beat(2, 4), beat(1, 9), beat(2, 6)]
    expect(receipts).toEqual(['heartbeat', 'older', 'older', 'former-leader', 'heartbeat'])
  })

  test('stored documents and lists do not prove that an engine works', () => {
    const { replica, receiver } = received()
    receiver.receive(encoded({ epoch: 1, sequence: 1, message: listOf(coins) }), 'channel')
    receiver.receive(encoded({ epoch: 1, sequence: 2, message: of('BTC', 1, 1) }), 'channel')
    expect(replica.state(NOW_MS)).toBe('unavailable')
    if (HEARTBEAT.kind !== 'heartbeat') throw new Error('not a heartbeat')
    receiver.receive(encoded({ epoch: 1, sequence: 3, message: HEARTBEAT }), 'channel')
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
  const state = () => ({
    subjects: [...coins, WHOLE_MARKET].map((subject) =>
      ownDocuments(replica.documentsOf(subject)).map(membersOf),
    ),
    coins: replica.coins(),
    listed: replica.listed,
  })
  return { replica, receiver, pass, state }
}

/** With its end. */
function carried(document: PackedDocument): CarriedDocument {
  return carriedFrom(document, undefined)
}

function textOf(documents: readonly Document[]): string {
  return JSON.stringify(documents.map(({ key, bytes }) => [key, String(bytes)]))
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
  const documents = [carried(packDocument(answeredDocument(key, version, renderedAtMs, text)))]
  return { kind: 'subject', subject, base: null, documents, total: 1 }
}
