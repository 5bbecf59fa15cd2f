import { expect, test } from 'vitest'
import type { LeafKind, ProofLog } from './answer-proof.ts'
import { PendingLeaves } from './pending-leaves.ts'

const leaf = (at: number) => Uint8Array.of(at >> 16, at >> 8, at)

/** A log that fails while `isDown`. */
function logged() {
  const rows: string[] = []
  const log = {
    isDown: false,
    rows,
    async add(kind: LeafKind, digests: readonly Uint8Array[]) {
      if (log.isDown) throw new Error('it is down')
      rows.push(...digests.map((digest) => `${kind} ${digest.join()}`))
    },
  }
  return log
}

test('leaves are written in their order, also those that are added while others are written', async () => {
  const log = logged()
  const leaves = new PendingLeaves(log as unknown as ProofLog, () => {})
  leaves.add('answer', [leaf(1)])
  leaves.add('answer', [leaf(2)])
  leaves.add('claim', [leaf(3)])
  await leaves.written()
  expect(log.rows).toEqual(['answer 0,0,1', 'answer 0,0,2', 'claim 0,0,3'])
})

test('an answer that is sold while claims are written does not wait for the next one', async () => {
  const log = logged()
  let leaves: PendingLeaves | undefined
  const add = async (kind: LeafKind, digests: readonly Uint8Array[]) => {
    await log.add(kind, digests)
    if (kind === 'claim') leaves?.add('answer', [leaf(2)])
  }
  leaves = new PendingLeaves({ add } as unknown as ProofLog, () => {})
  leaves.add('claim', [leaf(1)])
  await leaves.written()
  expect(log.rows).toEqual(['claim 0,0,1', 'answer 0,0,2'])
})

test('leaves that cannot be written wait for the next ones, up to a bound, and are written once', async () => {
  const log = logged()
  const failures: unknown[] = []
  const leaves = new PendingLeaves(log as unknown as ProofLog, (cause) => failures.push(cause))
  log.isDown = true
  leaves.add(
    'answer',
    Array.from({ length: 20_010 }, (_, at) => leaf(at)),
  )
  await leaves.written()
  expect([failures.length, leaves.dropped]).toEqual([1, 10])
  log.isDown = false
  leaves.add('answer', [leaf(20_010)])
  await leaves.written()
  expect(leaves.dropped).toBe(11)
  expect(log.rows).toHaveLength(20_000)
  expect(log.rows.at(-1)).toBe('answer 0,78,42')
  await leaves.written()
  expect(log.rows).toHaveLength(20_000)
})
