import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Answer, Document } from '../domain/document.ts'
import type { Quality } from './answer-preview.ts'
import { lowerQuality, previewOf, quotedQuality } from './answer-preview.ts'
import { pulseLikeDocument } from './testing/pulse-like.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const etag = '"1-1h.4h"'

function found(of: { coveragePct?: number; ageMs?: number; nextUpdateMs?: number } = {}) {
  const { coveragePct = 100, ageMs = 0, nextUpdateMs } = of
  const confirmedAtMs = NOW_MS - ageMs
  const document: Document = {
    ...pulseLikeDocument({ coin: 'BTC', confirmedAtMs, coveragePct }),
    ...(nextUpdateMs === undefined ? {} : { nextUpdateMs }),
  }
  return { document, answer: document.views['1h,4h'] as Answer, etag }
}

const infoAt = (one: ReturnType<typeof found>, nowMs = NOW_MS) =>
  (previewOf(one, nowMs)['answer-preview'] as { info: Record<string, unknown> }).info

describe('the preview of an answer', () => {
  test('states snapshot, age, quality and next update', () => {
    expect(infoAt(found({ ageMs: 2_500, coveragePct: 95.00049 }))).toEqual({
      snapshot_id: `snp_${(NOW_MS - 2_500).toString(36)}`,
      as_of: expect.objectContaining({ mark: new Date(NOW_MS - 2_500).toISOString() }),
      data_age_seconds: 2,
      quality_grade: 'B',
      coverage: 95,
      etag,
      next_update_iso: expect.stringMatching(/^2026-01-01T00:/),
    })
  })

  test('names the next update by the schedule of the document', () => {
    const dueMs = NOW_MS + 17_000
    expect(infoAt(found({ nextUpdateMs: dueMs }))['next_update_iso']).toBe(
      new Date(dueMs).toISOString(),
    )
  })

  test('is the same object until its content changes', () => {
    const one = found()
    const first = previewOf(one, NOW_MS)
    expect(previewOf(one, NOW_MS + 999)).toBe(first)
    expect(infoAt(one, NOW_MS + 1_000)).toMatchObject({ data_age_seconds: 1, quality_grade: 'A' })
    expect(infoAt(one, NOW_MS + 86_400_000)).toMatchObject({ quality_grade: 'D' })
    expect(infoAt({ ...one, etag: '"2"' }, NOW_MS)).toMatchObject({ etag: '"2"' })
    expect(infoAt(found(), NOW_MS)).toMatchObject({ etag })
  })
})

describe('an echoed preview', () => {
  const echo = (info: unknown) => ({ 'answer-preview': { info } })

  test('is sold as quoted', () => {
    const preview = JSON.parse(JSON.stringify(previewOf(found({ coveragePct: 91.5 }), NOW_MS)))
    expect(quotedQuality(preview)).toEqual({ grade: 'B', coverage: 91.5 })
  })

  test.each([null, undefined, {}, { other: {} }])('is absent in %j', (extensions) => {
    expect(quotedQuality(extensions)).toBeNull()
  })

  test.each([
    [{}, {}],
    [{ etag: '"1"', data_age_seconds: 'x' }, {}],
    [{ quality_grade: 'A' }, { grade: 'A' }],
    [{ quality_grade: 'b' }, { grade: 'B' }],
    [{ coverage: 0 }, { coverage: 0 }],
    [
      { quality_grade: 'd', coverage: 99.5 },
      { grade: 'D', coverage: 99.5 },
    ],
  ])('is a condition by each member alone in %j', (info, quality) => {
    expect(quotedQuality(echo(info))).toEqual(quality)
  })

  test.each([
    ['', null],
    ['', 'A'],
    ['', []],
    ['.quality_grade', { quality_grade: 'AA', coverage: 100 }],
    ['.quality_grade', { quality_grade: 'E', coverage: 100 }],
    ['.quality_grade', { quality_grade: '' }],
    ['.quality_grade', { quality_grade: ['A'], coverage: 100 }],
    ['.quality_grade', { quality_grade: null }],
    ['.coverage', { quality_grade: 'A', coverage: '100' }],
    ['.coverage', { coverage: null }],
    ['.coverage', { coverage: -1 }],
    ['.coverage', { coverage: 101 }],
  ])('is invalid in info%s: %j', (path, info) => {
    expect(quotedQuality(echo(info))).toMatchObject({
      param: `extensions.answer-preview.info${path}`,
    })
  })

  test('without info is invalid', () => {
    expect(quotedQuality({ 'answer-preview': { quality_grade: 'A' } })).toHaveProperty('rule')
  })

  property.prop([fc.jsonValue()])('is never believed blindly', (info) => {
    const quality = quotedQuality(echo(info))
    expect(quality).not.toBeNull()
    if (quality !== null && 'grade' in quality) expect('ABCD').toContain(quality.grade)
  })
})

describe('an answer of lower quality', () => {
  const quoted: Quality = { grade: 'B', coverage: 95 }
  const then = (of: Parameters<typeof found>[0], nowMs = NOW_MS) =>
    lowerQuality(quoted, found(of), nowMs)

  test('not with equal or higher quality', () => {
    expect(then({ coveragePct: 95 })).toBeNull()
    expect(then({ coveragePct: 94 }), 'what is seen of open interest decays').toBeNull()
    expect(then({ coveragePct: 100 })).toBeNull()
  })

  test('by coverage alone, beyond the tolerated decay', () => {
    expect(then({ coveragePct: 93.9 })).toEqual({ grade: 'B', coverage: 93.9 })
  })

  test('only in the quoted members', () => {
    const late = NOW_MS + 86_400_000
    expect(lowerQuality({}, found({ coveragePct: 10 }), late)).toBeNull()
    expect(lowerQuality({ grade: 'D' }, found({ coveragePct: 10 }), NOW_MS)).toBeNull()
    expect(lowerQuality({ coverage: 100 }, found(), late)).toBeNull()
    expect(lowerQuality({ grade: 'A' }, found({ coveragePct: 99.9 }), NOW_MS)).toMatchObject({
      grade: 'B',
    })
    expect(lowerQuality({ coverage: 100 }, found({ coveragePct: 98 }), NOW_MS)).not.toBeNull()
  })

  test('by its grade alone', () => {
    expect(then({ coveragePct: 100 }, NOW_MS + 86_400_000)).toEqual({ grade: 'D', coverage: 100 })
  })

  property.prop([fc.double({ min: 0, max: 100, noNaN: true })])(
    'never in the moment of its quote',
    (coveragePct) => {
      const one = found({ coveragePct })
      const shown = quotedQuality(JSON.parse(JSON.stringify(previewOf(one, NOW_MS))))
      if (shown === null || 'rule' in shown) throw new Error('the quote is a valid echo')
      expect(lowerQuality(shown, one, NOW_MS)).toBeNull()
    },
  )
})
