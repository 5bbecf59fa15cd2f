import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { FeedChunks } from './feed-chunks.ts'

const CORE = new Set(['A0', 'A1', 'A2'])
const asset = fc.nat({ max: 140 }).map((number) => `A${number}`)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.uniqueArray(asset, { maxLength: 130 }) },
  { weight: 1, arbitrary: asset },
)

describe('the feeds of each stream', () => {
  test.prop([fc.array(step, { maxLength: 12 })])(
    'are all wanted and not refused feeds, each once, at most 50 per stream',
    (steps) => {
      const chunks = new FeedChunks(CORE)
      const refused = new Set<string>()
      let wanted: readonly string[] = []
      for (const one of steps) {
        const before = chunks.chunks
        const had = before.map((feeds) => [...feeds.keys()].join())
        if (typeof one === 'string') {
          refused.add(one)
          chunks.exclude(`id of ${one}`, 1)
        } else {
          wanted = one
          chunks.set(new Map(one.map((name) => [name, `id of ${name}`])), 0)
        }
        const placed = chunks.chunks.flatMap((feeds) => [...feeds])
        expect(placed.map(([, name]) => name).toSorted()).toEqual(
          wanted.filter((name) => !refused.has(name)).toSorted(),
        )
        for (const [id, name] of placed) expect(id).toBe(`id of ${name}`)
        for (const feeds of chunks.chunks) {
          expect(feeds.size).toBeGreaterThan(0)
          expect(feeds.size).toBeLessThanOrEqual(50)
          expect(new Set([...feeds.values()].map((name) => CORE.has(name))).size).toBe(1)
        }
        const kept = new Set(chunks.chunks)
        const have = chunks.chunks.map((feeds) => [...feeds.keys()].join())
        for (const [index, feeds] of before.entries())
          expect(kept.has(feeds), 'the same feeds keep the same stream').toBe(
            have.includes(had[index] ?? ''),
          )
      }
    },
  )

  test('move to another stream when their id changes', () => {
    const chunks = new FeedChunks(CORE)
    chunks.set(new Map([['A9', 'old']]), 0)
    chunks.set(new Map([['A9', 'new']]), 0)
    expect(chunks.chunks).toEqual([new Map([['new', 'A9']])])
  })

  test('have a refused feed again after its exclusion', () => {
    const chunks = new FeedChunks(CORE)
    const wanted = new Map([['A9', 'id']])
    chunks.set(wanted, 0)
    chunks.exclude('id', 100)
    chunks.set(wanted, 99)
    expect(chunks.chunks).toEqual([])
    chunks.set(wanted, 100)
    expect(chunks.chunks).toEqual([new Map([['id', 'A9']])])
  })
})
