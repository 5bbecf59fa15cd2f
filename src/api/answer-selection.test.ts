import { fc, test as property } from '@fast-check/vitest'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { contracts } from '../compute/analyses/registry.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import type { Answer, Document } from '../domain/document.ts'
import type { Selection } from './answer-selection.ts'
import { FIELDS_MAX, selectionReader } from './answer-selection.ts'
import type { JsonSchema } from './discovery/published-schema.ts'
import { publishedSchema } from './discovery/published-schema.ts'
import { hasPath } from './discovery/schema-parts.ts'
import { fillDocument } from './fill-document.ts'
import { layOut, pulseLike } from './testing/pulse-like.ts'

const START_MS = Date.UTC(2026, 0, 1)
const FACTS = { nowMs: START_MS + 2_000, executionMs: 0, coinsAvailable: 3 }

const contract: AnalysisContract = {
  ...pulseLike,
  viewParameters: [],
  compactOmits: ['levels.size'],
  document: Type.Object({
    coin: Type.String(),
    timestamp_iso: Type.String(),
    age: Type.Number(),
    levels: Type.Array(Type.Object({ price: Type.Number(), size: Type.Number() })),
    by_name: Type.Record(Type.String(), Type.Object({ r: Type.Number() })),
    interpretation: Type.String(),
    meta: Type.Object({
      offering: Type.String(),
      data_age_seconds: Type.Number(),
      sources: Type.Array(Type.String()),
    }),
  }),
}

const answer: Answer = {
  kind: 'answer',
  parts: [0, 1, 2, 3, 4, 5, 6],
  inputs: [{ name: 'mark', confirmedAtMs: START_MS, cadenceMs: 5_000, isLoadBearing: true }],
  coveragePct: 100,
  warnings: [],
}

function documentOf(): Document {
  return {
    key: 'pulse/BTC',
    version: 1,
    renderedAtMs: START_MS,
    views: {},
    ...layOut([
      '{"coin":"BTC"',
      { kind: 'requested-coin' },
      ',"timestamp_iso":"2026-01-01T00:00:00Z","age":',
      { kind: 'input-age', input: 'mark' },
      ',"levels":[{"price":1.5,"size":2},{"price":1.6,"size":3}],"by_name":{"ä":{"r":1e-7}},' +
        '"interpretation":"Grüße — 😀","meta":{"offering":"service_pulse",',
      { kind: 'freshness' },
      ',"sources":["venue"]}}',
    ]),
  }
}

const contractOf = (id: string) => {
  const found = contracts.find((one) => one.id === id)
  if (found === undefined) throw new Error(`there is no ${id}`)
  return found
}

const read = selectionReader(contract)
const selected = (fields: string | undefined, view?: string) => {
  const selection = read({ fields, view })
  if (selection !== null && 'rule' in selection) throw new Error(selection.rule)
  return filled(selection)
}

function filled(selection: Selection | null, facts: Parameters<typeof fillDocument>[2] = FACTS) {
  return JSON.parse(fillDocument(documentOf(), { ...answer }, facts, selection).toString('utf8'))
}

describe('fields', () => {
  test('keep the named members, and always coin, time and quality', () => {
    expect(selected('age')).toEqual({
      coin: 'BTC',
      timestamp_iso: '2026-01-01T00:00:00Z',
      age: 2,
      meta: {
        offering: 'service_pulse',
        data_age_seconds: 2,
        warnings: [],
        quality: { grade: 'A', coverage_pct: 100, reasons: [] },
      },
    })
  })

  test('take no member that the compact answer leaves out', () => {
    const read = selectionReader(contract)
    const rule = expect.stringContaining('not in this answer: request it with view=full')
    expect(read({ fields: 'interpretation', view: 'compact' })).toMatchObject({ rule })
    expect(read({ fields: 'levels.size', view: 'compact' })).toMatchObject({ rule })
    expect(read({ fields: 'levels.price', view: 'compact' })).toMatchObject({ isCompact: true })
    expect(read({ fields: 'interpretation', view: 'full' })).toMatchObject({ isCompact: false })
  })

  test('reach into lists and maps', () => {
    expect(selected('levels.price, by_name.ä.r')).toMatchObject({
      levels: [{ price: 1.5 }, { price: 1.6 }],
      by_name: { ä: { r: 1e-7 } },
    })
  })

  test('preserve all characters', () => {
    expect(selected('interpretation').interpretation).toBe('Grüße — 😀')
  })

  test('keep the unit multiplier next to the coin', () => {
    const selection = read({ fields: 'age', view: undefined })
    if (selection === null || 'rule' in selection) throw new Error('it is a selection')
    const facts = { ...FACTS, requested: { ticker: 'PEPE', unitMultiplier: 1_000 } }
    expect(filled(selection, facts)).toMatchObject({
      requested_coin: 'PEPE',
      unit_multiplier: 1_000,
    })
  })

  test('are computed once per rendering, and their ages still grow', () => {
    const document = documentOf()
    const selection = read({ fields: 'age', view: undefined }) as Selection
    const at = (nowMs: number) =>
      JSON.parse(fillDocument(document, answer, { ...FACTS, nowMs }, selection).toString('utf8'))
        .age
    expect([at(START_MS), at(START_MS + 1_500)]).toEqual([0, 1.5])
  })

  test.each([
    ['pulse', '1h,4h', 'timeframes.15m', 'timeframes=15m'],
    ['pulse', '4h', 'price,timeframes.1h.indicators.rsi_14', 'timeframes=1h'],
    ['pulse', '4h', 'timeframes.15m,timeframes.1h', 'timeframes=15m,1h,4h'],
    ['pulse', '1h', 'confluence.per_timeframe.4h.net', 'timeframes=4h'],
    ['screener', 'compact,2', 'coins.rsi_14', 'view=full'],
    ['screener', 'compact,200', 'coins.price,coins.cascade_level', 'view=full'],
    ['sentiment', 'scores', 'sentiment.sectors', 'bucket=all'],
    ['sentiment', 'scores', 'sentiment.sectors.score', 'bucket=all'],
    ['bundle', '', 'pulse.timeframes.15m', null],
    ['bundle', '', 'sentiment.sentiment.sectors', null],
  ])('take no member of %s that view "%s" does not have: %s', (id, view, fields, parameter) => {
    const advice = parameter === null ? '' : `: request it with ${parameter}`
    expect(selectionReader(contractOf(id))({ fields, view: undefined }, view)).toMatchObject({
      name: 'fields',
      rule: expect.stringMatching(RegExp(`^names "[^"]+", which is not in this answer${advice}$`)),
      allowed: expect.arrayContaining(['meta']),
    })
  })

  test.each([
    ['pulse', '15m', 'timeframes.15m,confluence.per_timeframe.15m'],
    ['pulse', '1h,4h', 'requested_coin,unit_multiplier,dex,meta.warning,timeframes'],
    ['oi', '', 'price,meta.sample'],
    ['bundle', '', 'pulse.meta.sample,summary'],
    ['screener', 'full,50', 'coins.rsi_14,coins.signal_strength_supported'],
    ['screener', 'compact,200', 'coins.price,coins.quote_unit'],
    ['sentiment', 'all', 'sentiment.sectors'],
    ['sentiment', 'Layer1', 'sentiment.sectors.score'],
    ['bundle', '', 'pulse.timeframes.1h,pulse.timeframes.4h'],
    ['liquidations', '', 'cascade_risk.track_record.rank_correlation'],
  ])('take members of %s that view "%s" has, or has with other data: %s', (id, view, fields) => {
    const selection = selectionReader(contractOf(id))({ fields, view: undefined }, view)
    expect(selection).not.toHaveProperty('rule')
  })

  test('recommend no parameter that the call does not take', () => {
    const read = selectionReader(contractOf('pulse'), ['view', 'fields'])
    expect(read({ fields: 'timeframes.15m', view: undefined })).toMatchObject({
      rule: 'names "timeframes.15m", which is not in this answer',
    })
  })

  test.each([
    ['confluence.scor,price', 'confluence.scor', ['confluence.score'], ['score', 'bias', 'net']],
    ['price,Confluence', 'Confluence', ['confluence'], ['price', 'confluence', 'meta']],
    ['confluence.conflicts.x', 'confluence.conflicts.x', [], []],
    [
      'confluence.track_record.rank_correlation',
      'confluence.track_record.rank_correlation',
      [],
      ['probability', 'lift'],
    ],
    ['timeframes.1h.bar', 'timeframes.1h.bar', ['timeframes.1h.bars'], ['bars', 'indicators']],
    [`${'x'.repeat(900)}`, 'x'.repeat(64), [], ['price', 'meta']],
  ])('name the unknown member of %j', (fields, named, meant, allowed) => {
    const fault = selectionReader(contractOf('pulse'))({ fields, view: undefined })
    expect(fault).toMatchObject({
      rule: `names "${named}", which is not a member of the answer`,
      didYouMean: meant,
      allowed: expect.arrayContaining(allowed),
    })
  })

  test.each([
    ['an unknown one', 'nothing'],
    ['what every object has', 'constructor'],
    ['an empty one', 'age,'],
    ['too many', Array.from({ length: FIELDS_MAX + 1 }, () => 'age').join()],
    ['too much', `age${' '.repeat(1_000)}`],
    ['two lists', null],
  ])('are refused for %s, with the names that there are', (_, fields) => {
    expect(read({ fields, view: undefined })).toMatchObject({
      name: 'fields',
      allowed: expect.arrayContaining(['coin', 'age', 'meta']),
    })
  })

  test('in any order are one selection', () => {
    const key = (fields: string) => (read({ fields, view: undefined }) as Selection).key
    expect(key('age,levels')).toBe(key('levels, age,age'))
    expect(key('age')).not.toBe(key('levels'))
  })
})

describe('the compact view', () => {
  test('omits interpretations, long members and those that the contract names', () => {
    expect(selected(undefined, 'COMPACT')).toEqual({
      coin: 'BTC',
      timestamp_iso: '2026-01-01T00:00:00Z',
      age: 2,
      levels: [{ price: 1.5 }, { price: 1.6 }],
      by_name: { ä: { r: 1e-7 } },
      meta: {
        offering: 'service_pulse',
        data_age_seconds: 2,
        warnings: [],
        quality: { grade: 'A', coverage_pct: 100, reasons: [] },
      },
    })
  })

  test('combines with named fields', () => {
    expect(selected('levels', 'compact').levels).toEqual([{ price: 1.5 }, { price: 1.6 }])
  })

  test('of the full answer is the full answer', () => {
    expect(read({ fields: undefined, view: 'full' })).toBeNull()
    expect(read({ fields: undefined, view: undefined })).toBeNull()
  })

  test.each(['long', '', null])('is refused for %j', (view) => {
    expect(read({ fields: undefined, view })).toMatchObject({ name: 'view' })
  })

  test('of an analysis with its own view parameter is rendered by it', () => {
    expect(
      selectionReader(contractOf('screener'))({ fields: undefined, view: 'compact' }),
    ).toBeNull()
  })
})

/** Absent without data, or by the requested name or the kind of the coin; the last line is always there. */
const BY_DATA = [
  ...['requested_coin', 'requested_token', 'unit_multiplier', 'dex', 'coins.quote_unit'],
  ...['meta.warning', 'meta.sample', 'coins.signal_strength_supported'],
  ...['confluence.signals.vwap', 'confluence.signals.funding', 'confluence.signals.oi'],
  ...['pulse.timeframes.1h', 'pulse.timeframes.4h'],
]

function optionalPaths(schema: JsonSchema, prefix = ''): string[] {
  const inner = [schema.items, ...(schema.prefixItems ?? []), ...(schema.anyOf ?? [])]
  const below = inner.flatMap((one) => (one ? optionalPaths(one, prefix) : []))
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    if (schema.required?.includes(name)) return optionalPaths(member, `${path}.`)
    return [path]
  })
  return [...new Set([...below, ...own])]
}

describe('every analysis', () => {
  test.each(contracts.map((one) => ({ id: one.id, one })))(
    'names only members of $id to be left out, and never the coin',
    ({ one }) => {
      for (const path of one.compactOmits ?? []) {
        expect(
          hasPath(publishedSchema(one.document), path.split('.')),
          `${path} in compactOmits names no member of /${one.id}`,
        ).toBe(true)
        expect(path).not.toMatch(/(^|\.)(coin|token)$/)
      }
    },
  )

  test.each(contracts.map((one) => ({ id: one.id, one })))(
    'states for each optional member of $id whether the view or the data decides',
    ({ one }) => {
      const reader = selectionReader(one)
      const isRefused = (fields: string) =>
        ['none', one.defaultView].some(
          (view) => 'rule' in (reader({ fields, view: undefined }, view) ?? {}),
        )
      const isByData = (path: string) => BY_DATA.some((end) => `.${path}`.endsWith(`.${end}`))
      const paths = optionalPaths(publishedSchema(one.document))
      expect(paths.filter((path) => isRefused(path) === isByData(path))).toEqual([])
    },
  )

  property.prop([fc.string({ maxLength: 1_200 }), fc.constantFrom(...contracts)])(
    'reads any text as fields or refuses it',
    (fields, one) => {
      const selection = selectionReader(one)({ fields, view: undefined })
      expect(selection).not.toBeNull()
    },
  )
})
