import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AnswerProof } from '../domain/answer-proof.ts'
import { chainValue } from '../domain/answer-proof.ts'
import { rootByProof } from '../domain/merkle-tree.ts'
import { ProofLog } from './proof-log.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 0, 1, 12)

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const digestOf = (name: string) => sha256(Buffer.from(name))

describe('the proof log', () => {
  let folder: string
  let log: ProofLog

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-proofs-'))
    log = open()
  })
  afterEach(() => {
    log.close()
    rmSync(folder, { recursive: true })
  })

  const open = () => new ProofLog(join(folder, 'proofs.db'), START_MS)

  function sealed(name: string, nowMs: number): Extract<AnswerProof, { state: 'sealed' }> {
    const proof = log.proofOf(digestOf(name), nowMs)
    if (proof?.state !== 'sealed') throw new Error(`${name}: ${proof?.state}`)
    return proof
  }

  test('proves every answer of an hour once the hour has ended', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const [at, name] of names.entries()) log.add(digestOf(name), START_MS + at * 60_000)
    expect(log.proofOf(digestOf('c'), START_MS + HOUR_MS - 1)).toEqual({
      state: 'open',
      hourMs: START_MS,
    })
    for (const name of names) {
      const { hour, proof } = sealed(name, START_MS + HOUR_MS)
      expect(hour).toMatchObject({ hourMs: START_MS, answers: 5 })
      expect(rootByProof(digestOf(name), proof, sha256)).toEqual(hour.root)
    }
  })

  test('chains the roots of its hours', () => {
    log.add(digestOf('a'), START_MS)
    log.add(digestOf('b'), START_MS + 3 * HOUR_MS)
    const nowMs = START_MS + 4 * HOUR_MS
    const [second, first] = log.hours(nowMs, 10, nowMs)
    expect([first?.hourMs, second?.hourMs]).toEqual([START_MS, START_MS + 3 * HOUR_MS])
    if (first === undefined || second === undefined) throw new Error('two hours')
    expect(first.chain).toEqual(chainValue(Buffer.alloc(32), first, sha256))
    expect(sealed('b', nowMs).before).toEqual(first.chain)
    expect(second.chain).toEqual(chainValue(first.chain, second, sha256))
  })

  test('holds an answer once, however often it is sent', () => {
    log.add(digestOf('a'), START_MS)
    log.add(digestOf('a'), START_MS + 1)
    log.add(digestOf('a'), START_MS + 2 * HOUR_MS)
    expect(sealed('a', START_MS + HOUR_MS).hour.answers).toBe(1)
  })

  test('never adds to a sealed hour, also after the clock was set back', () => {
    log.add(digestOf('a'), START_MS)
    const root = sealed('a', START_MS + HOUR_MS).hour.root
    log.add(digestOf('late'), START_MS)
    const { hour } = sealed('late', START_MS + 2 * HOUR_MS)
    expect(hour.hourMs).toBe(START_MS + HOUR_MS)
    expect(sealed('a', START_MS + 2 * HOUR_MS).hour.root).toEqual(root)
  })

  test('is the same after a restart', () => {
    log.add(digestOf('a'), START_MS)
    const before = sealed('a', START_MS + HOUR_MS)
    log.close()
    log = open()
    expect(sealed('a', START_MS + HOUR_MS)).toEqual(before)
  })

  test('knows no answer that was not sold', () => {
    expect(log.proofOf(digestOf('a'), START_MS)).toBeNull()
    expect(log.hours(START_MS, 10, START_MS)).toEqual([])
  })
})
