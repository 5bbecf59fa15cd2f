import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AnswerProof, ProofLog } from '../../src/domain/answer-proof.ts'
import { chainValue, LEAVES_MAX, SEAL_DELAY_MS } from '../../src/domain/answer-proof.ts'
import { rootByProof } from '../../src/domain/merkle-tree.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 0, 1, 12)
const DAY = Math.floor(START_MS / (24 * HOUR_MS))
const NETWORK = 'eip155:8453'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const digestOf = (name: string) => sha256(Buffer.from(name))

/** One place of a log, which can be opened more than once, by one clock. */
export type ProofLogStore = {
  open(nowMs: () => number): Promise<ProofLog>
  remove(): Promise<void>
}

/** What every store of the proof log promises. */
export function describeProofLog(name: string, newStore: () => Promise<ProofLogStore>): void {
  describe(`the proof log in ${name}`, () => {
    let nowMs = START_MS
    let store: ProofLogStore
    let log: ProofLog

    beforeEach(async () => {
      nowMs = START_MS
      store = await newStore()
      log = await open()
    })
    afterEach(() => store.remove())

    const open = () => store.open(() => nowMs)
    const add = (...names: string[]) => log.add('answer', names.map(digestOf))
    const atHour = async (hours: number) => {
      nowMs = START_MS + hours * HOUR_MS + SEAL_DELAY_MS
      await log.seal()
    }

    async function sealed(name: string, at = log): Promise<Sealed> {
      const proof = await at.proofOf(digestOf(name))
      if (proof?.state !== 'sealed') throw new Error(`${name}: ${proof?.state}`)
      return proof
    }

    test('proves every leaf of an hour once the hour has ended', async () => {
      for (const name of ['a', 'b', 'c']) await add(name)
      await log.add('claim', ['d', 'e'].map(digestOf))
      nowMs = START_MS + HOUR_MS + SEAL_DELAY_MS - 1
      await log.seal()
      expect(await log.proofOf(digestOf('c'))).toEqual({
        ...{ state: 'open', kind: 'answer', hourMs: START_MS },
      })
      await atHour(1)
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        const { hour, proof, kind } = await sealed(name)
        expect(hour).toMatchObject({ number: 1, hourMs: START_MS, answers: 3, claims: 2 })
        expect(kind).toBe(name < 'd' ? 'answer' : 'claim')
        expect(rootByProof(digestOf(name), proof, sha256)).toEqual(hour.root)
      }
    })

    test('seals only when it is asked to: a sale and a free request never do', async () => {
      await add('a')
      nowMs = START_MS + 5 * HOUR_MS
      await add('b')
      expect(await log.proofOf(digestOf('a'))).toMatchObject({ state: 'open' })
      expect(await log.hours(null, 10)).toEqual([])
      expect(await log.beginAnchor(DAY, NETWORK)).toBeNull()
      await log.seal()
      expect((await sealed('a')).hour.number).toBe(1)
    })

    test('seals a busy hour in parts, of which each has its own tree', async () => {
      const names = Array.from({ length: LEAVES_MAX + 3 }, (_, at) => `leaf ${at}`)
      await add(...names)
      await atHour(1)
      const [second, first] = await log.hours(null, 10)
      expect([first, second]).toMatchObject([
        { number: 1, hourMs: START_MS, answers: LEAVES_MAX },
        { number: 2, hourMs: START_MS, answers: 3 },
      ])
      for (const [at, part] of [
        [0, first],
        [LEAVES_MAX - 1, first],
        [LEAVES_MAX, second],
        [LEAVES_MAX + 2, second],
      ] as const) {
        const { hour, proof, before } = await sealed(`leaf ${at}`)
        expect(hour).toEqual(part)
        expect(rootByProof(digestOf(`leaf ${at}`), proof, sha256)).toEqual(hour.root)
        expect(chainValue(before, hour, sha256)).toEqual(hour.chain)
      }
    })

    test('chains the roots of its hours', async () => {
      await add('a')
      await atHour(3)
      await add('b')
      await atHour(4)
      const [second, first] = await log.hours(null, 10)
      expect([first?.hourMs, second?.hourMs]).toEqual([START_MS, START_MS + 3 * HOUR_MS])
      if (first === undefined || second === undefined) throw new Error('two hours')
      expect(first.chain).toEqual(chainValue(Buffer.alloc(32), first, sha256))
      expect((await sealed('b')).before).toEqual(first.chain)
      expect(second.chain).toEqual(chainValue(first.chain, second, sha256))
    })

    test('lists the hours before a number and before an instant', async () => {
      for (const [at, name] of ['a', 'b', 'c'].entries()) {
        await atHour(at)
        await add(name)
      }
      await atHour(3)
      const numbers = async (...asked: Parameters<ProofLog['hours']>) =>
        (await log.hours(...asked)).map(({ number }) => number)
      expect(await numbers(null, 2)).toEqual([3, 2])
      expect(await numbers({ number: 2 }, 2)).toEqual([1])
      expect(await numbers({ hourMs: START_MS + HOUR_MS }, 9)).toEqual([1])
      expect(await numbers({ hourMs: START_MS + HOUR_MS + 1 }, 9)).toEqual([2, 1])
    })

    test('holds a leaf once, however often it is added', async () => {
      await add('a', 'a')
      await add('a')
      await atHour(2)
      await add('a', 'b')
      expect((await sealed('a')).hour.answers).toBe(1)
    })

    test('never adds to a sealed hour, also after the clock was set back', async () => {
      await add('a')
      await atHour(1)
      const { root } = (await sealed('a')).hour
      nowMs = START_MS
      await add('late')
      expect(await log.proofOf(digestOf('late'))).toMatchObject({ state: 'open' })
      await atHour(1)
      expect((await sealed('late')).hour).toMatchObject({ number: 2, hourMs: START_MS })
      expect((await sealed('a')).hour.root).toEqual(root)
    })

    test('seals what a clock far ahead has added once the clock is right', async () => {
      await add('before')
      for (const [hours, name] of [
        [48, 'ahead'],
        [49, 'further'],
      ] as const) {
        await atHour(hours)
        await add(name)
      }
      await atHour(0.5)
      await add('right')
      expect((await sealed('further')).hour.number).toBe(3)
      await atHour(1)
      expect((await sealed('right')).hour).toMatchObject({ number: 4, hourMs: START_MS })
      expect((await sealed('right')).before).toEqual((await sealed('further')).hour.chain)
      // The right clock arrives at the hours that the wrong one has shown.
      await atHour(48)
      await add('again')
      await atHour(49)
      expect((await sealed('again')).hour).toMatchObject({ hourMs: START_MS + 48 * HOUR_MS })
      expect((await log.hours(null, 9)).map(({ number }) => number)).toEqual([5, 4, 3, 2, 1])
    })

    test('answers the same in another place that opens it, and seals once', async () => {
      const other = await open()
      await add('a')
      await other.add('answer', [digestOf('b')])
      nowMs = START_MS + HOUR_MS + SEAL_DELAY_MS
      await Promise.all([log.seal(), other.seal(), log.seal(), other.seal()])
      expect(await sealed('a', other)).toEqual(await sealed('a'))
      expect((await sealed('b')).hour).toMatchObject({ number: 1, answers: 2 })
    })

    test('knows no answer that was not sold', async () => {
      expect(await log.proofOf(digestOf('a'))).toBeNull()
      expect(await log.hours(null, 10)).toEqual([])
    })

    test('anchors one hour a day, and proves what leads to it', async () => {
      expect(await log.beginAnchor(DAY, NETWORK), 'nothing to anchor').toBeNull()
      for (const [at, name] of ['a', 'b', 'c'].entries()) {
        await atHour(at)
        await add(name)
      }
      const begun = await log.beginAnchor(DAY, NETWORK)
      expect(begun).toMatchObject({ number: 2 })
      expect(await (await open()).beginAnchor(DAY, NETWORK), 'the day is taken').toBeNull()
      await log.anchorSent(DAY, '0xabc')
      expect(await log.openAnchors()).toEqual([
        { day: DAY, number: 2, network: NETWORK, transaction: '0xabc' },
      ])
      expect((await sealed('a')).anchor, 'not mined').toBeNull()
      await log.anchorMined(DAY)
      await log.cancelAnchor(DAY)
      expect(await log.openAnchors()).toEqual([])
      const { anchor, hour } = await sealed('a')
      expect(anchor).toMatchObject({ network: NETWORK, transaction: '0xabc', chain: begun?.chain })
      const [next] = anchor?.following ?? []
      expect(next && chainValue(hour.chain, next, sha256)).toEqual(begun?.chain)
      expect((await sealed('b')).anchor?.following).toEqual([])
      await atHour(3)
      expect((await sealed('c')).anchor, 'after the anchor').toBeNull()
      expect(await log.beginAnchor(DAY + 1, NETWORK)).toMatchObject({ number: 3 })
      await log.cancelAnchor(DAY + 1)
      expect(await log.beginAnchor(DAY + 1, NETWORK), 'free again').toMatchObject({ number: 3 })
    })
  })
}

type Sealed = Extract<AnswerProof, { state: 'sealed' }>
