import { describe, expect, test } from 'vitest'
import type { Input } from '../../domain/document.ts'
import { isoInstant } from '../../domain/instant.ts'
import { answerMeta } from './answer-meta.ts'
import { DocumentBuilder } from './document-builder.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

const rendering = {
  key: 'demo/BTC',
  version: 123_456_789,
  renderedAtMs: NOW_MS,
  snapshotId: 'snp_x',
  engineVersion: '1.2.3',
} as const

describe('the meta object', () => {
  test('has the last confirmation of every input', () => {
    const meta = metaOf([input('book', 400, 6_000), input('impact', 9_000, 15_000, false)])
    expect(meta['as_of']).toEqual({
      book: isoInstant(NOW_MS - 400),
      impact: isoInstant(NOW_MS - 9_000),
    })
  })

  test.each([
    {
      what: 'the first of what it rests on is due',
      inputs: [input('book', 1_000, 6_000), input('mark', 3_000, 15_000)],
      dueMs: 5_000,
    },
    {
      what: 'and not for what it can do without',
      inputs: [input('mark', 3_000, 15_000), input('impact', 14_000, 15_000, false)],
      dueMs: 12_000,
    },
    { what: 'even where that is over', inputs: [input('book', 60_000, 6_000)], dueMs: -54_000 },
    { what: 'at once where it rests on nothing', inputs: [], dueMs: 0 },
  ])('is good until $what', ({ inputs, dueMs }) => {
    expect(metaOf(inputs)['valid_until_iso']).toBe(isoInstant(NOW_MS + dueMs))
  })

  test("is valid until its schedule's next answer", () => {
    const meta = metaOf([input('mark', 0, 15_000)], { nextUpdateMs: NOW_MS + 60_000 })
    expect(meta['valid_until_iso']).toBe(isoInstant(NOW_MS + 60_000))
  })

  test('names the rendering and the view, so that no two answers share a name', () => {
    const name = (view: string, version: number) =>
      metaOf([], { view, rendering: { ...rendering, version } })['answer_id']
    const names = [name('', 1), name('', 2), name('1h', 1), name('1h,4h', 1), name('1h,4h', 2)]
    names.push(metaOf([], { offering: 'service_other' })['answer_id'])
    expect(new Set(names).size).toBe(names.length)
    for (const one of names) expect(one).toMatch(/^ans_[0-9a-z_]+$/)
  })
})

function metaOf(inputs: readonly Input[], more: Partial<Parameters<typeof answerMeta>[1]> = {}) {
  return answerMeta(new DocumentBuilder(), {
    offering: 'service_demo',
    rendering,
    view: '',
    inputs,
    sources: ['venue'],
    ...more,
  })
}

function input(name: string, ageMs: number, cadenceMs: number, isLoadBearing = true): Input {
  return { name, confirmedAtMs: NOW_MS - ageMs, cadenceMs, isLoadBearing }
}
