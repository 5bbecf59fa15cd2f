import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import type { Document } from '../../domain/document.ts'
import { viewOf } from '../../domain/document.ts'
import { bytesOf } from '../../domain/document-bytes.ts'
import type { ResolvedClaim } from '../../domain/track-record.ts'
import { claimFamilies, familyOf, formOfFamily, quantileLevels } from '../../domain/track-record.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from '../testing/new-market.ts'
import { DAY_MS } from './blocks.ts'
import {
  isoDay,
  recordOf as memberOf,
  rankedRecordMember,
  recordMember,
  shownRules,
  supportedOnly,
} from './record-member.ts'
import { seededRandom } from './seeded-random.ts'
import { renderedTable, tableOf } from './table.ts'
import { event, FIRST_DAY, plantedClaim, recordOf } from './testing/planted-claims.ts'
import { trackRecord } from './track-record.ts'
import { trackRecordDocument } from './track-record-document.ts'
import { TrackRecordAnswer } from './track-record-schema.ts'

const DAYS = 70
const NOW_MS = (FIRST_DAY + DAYS) * DAY_MS

/** A rule that is wrong in one of 100 claims, one that tosses a coin, and one that ended after a fortnight. */
function claims(day: number): readonly ResolvedClaim[] {
  const random = seededRandom(day)
  return Array.from({ length: 20 }, (_, hour) => [
    plantedClaim(day, ...event(0.95, hour > 0 || day % 5 > 0), { hour, rule: 'zone.oracle@1' }),
    plantedClaim(day, ...event(0.5, random() < 0.5), { hour, rule: 'confluence.toss@1' }),
    ...(day < FIRST_DAY + 14
      ? [plantedClaim(day, ...event(0.5, true), { hour, rule: 'zone.old@1' })]
      : []),
  ]).flat()
}

const market = newMarket(new PulsePool(3))
const record = recordOf(DAYS, claims, market.of(trackRecord))
// Without an outcome: its rule was removed.
record.made(plantedClaim(FIRST_DAY + 13, ...event(0.5, true), { rule: 'zone.old@1' }))

function shown(view: string, of = market, nowMs = NOW_MS) {
  const document: Document = trackRecordDocument.render(
    structuredClone(trackRecordDocument.gather(of, nowMs)),
    {
      ...{ key: 'track-record/*', version: 1, renderedAtMs: nowMs },
      ...{ snapshotId: 's', engineVersion: '1' },
    },
  )
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no view ${view}`)
  const bytes = bytesOf(document)
  const text = answer.parts.map((at) => {
    const part = document.parts[at]
    return part?.kind === 'text' ? new TextDecoder().decode(bytes.slice(part.start, part.end)) : ''
  })
  return JSON.parse(text.join(''))
}

describe('document of the track record', () => {
  test.each(['all', 'graveyard', ...claimFamilies])('%s has its schema', (view) => {
    expect([...Value.Errors(TrackRecordAnswer, shown(view))]).toEqual([])
  })

  test('shows each rule with its status, and dead rules apart', () => {
    const rules = (view: string) =>
      shown(view).records.map((row: { rule: string; status: string }) => [row.rule, row.status])
    expect(rules('all')).toEqual([
      ['zone.oracle@1', 'supported'],
      ['confluence.toss@1', 'not_supported'],
    ])
    expect(rules('zone')).toEqual([['zone.oracle@1', 'supported']])
    expect(rules('graveyard')).toEqual([['zone.old@1', 'measuring']])
    expect(shown('all').watched_cells).toBe(3)
  })

  test('each record is as of its own last day, and a dead one has no open claims', () => {
    const [oracle] = shown('zone').records
    const [old] = shown('graveyard').records
    expect(oracle).toMatchObject({ as_of: isoDay(FIRST_DAY + DAYS), open: 0 })
    expect(old).toMatchObject({ as_of: isoDay(FIRST_DAY + 14), open: 0 })
  })

  test('a rule that is not claimed now says until when it was, and keeps its figures', () => {
    const until = (view: string, nowMs: number) =>
      shown(view, market, nowMs).records.map(
        (row: { readonly claimed_until_iso: string | null }) => row.claimed_until_iso,
      )
    const newestMs = Math.max(...record.cells.map(({ newestMadeMs }) => newestMadeMs))
    expect(until('zone', newestMs + 2 * DAY_MS)).toEqual([null])
    expect(until('zone', newestMs + 2 * DAY_MS + 1)).toEqual([new Date(newestMs).toISOString()])
    expect(shown('zone', market, newestMs + 9 * DAY_MS).records[0].windows).toEqual(
      shown('zone').records[0].windows,
    )
    const [old] = shown('graveyard').records
    expect(old.claimed_until_iso).toMatch(`${isoDay(FIRST_DAY + 13)}T`)
  })

  test('a window of 90 days has no more of them', () => {
    const long = newMarket(new PulsePool(3))
    recordOf(200, (day) => [plantedClaim(day, ...event(0.5, day % 3 > 0))], long.of(trackRecord))
    const [row] = shown('confluence', long, (FIRST_DAY + 200) * DAY_MS).records
    expect(row.windows.at(2)).toMatchObject({ window: '90d', days: 89, n: 89 })
  })

  test('n_eff is rounded down, so that it reaches a threshold only with the record', () => {
    const toss = record.cells.find(({ key }) => key.rule === 'confluence.toss@1')
    const effective = toss?.figures.effective ?? 0
    expect(effective % 1).toBeGreaterThan(0.5)
    const [row] = shown('confluence').records
    expect(row.windows.at(-1).n_eff).toBe(Math.floor(effective))
    const { rule, horizonMs } = toss?.key ?? { rule: 'confluence.toss@1', horizonMs: 0 }
    expect(memberOf(market, { rule, horizonMs }, 'majors').n_eff).toBe(Math.floor(effective))
  })

  test('a skill follows from the losses, which are about 1e-6 for hourly rates', () => {
    const rates = newMarket(new PulsePool(3))
    const quantilesBy = (width: number) =>
      quantileLevels.map((level) => 1.25e-5 + (level - 0.5) * width)
    recordOf(
      12,
      (day) =>
        [...Array(20).keys()].map((hour) =>
          plantedClaim(
            day,
            { form: 'quantiles', values: quantilesBy(4e-6), control: quantilesBy(7e-6) },
            { kind: 'value', value: 1.25e-5 + ((hour % 7) - 3) * 1e-6 },
            { hour, rule: 'funding.planted@1' },
          ),
        ),
      rates.of(trackRecord),
    )
    const [row] = shown('funding', rates, (FIRST_DAY + 12) * DAY_MS).records
    const { loss, control_loss, skill } = row.windows.at(-1)
    expect(loss).toBeGreaterThan(0)
    expect(skill).not.toBe(0)
    expect(1 - loss / control_loss).toBeCloseTo(skill, 4)
  })

  test('a family has windows of whole days, and the change with its evidence', () => {
    const [row] = shown('zone').records
    expect(row.windows.map(({ window, n }: { window: string; n: number }) => [window, n])).toEqual([
      ['7d', 140],
      ['30d', 600],
      ['90d', 1_400],
      ['since', 1_400],
    ])
    expect(row.changes.at(-1)).toMatchObject({ status: 'supported', e_value_needed: 60 })
    expect(row.changes.at(-1).e_value).toBeGreaterThanOrEqual(60)
    expect(row.reliability).toEqual([
      { from: 0.9, to: 1, n: 1_400, stated: expect.closeTo(0.95, 3), happened: 0.99 },
    ])
  })
})

describe('record in an answer', () => {
  const oracle = { rule: 'zone.oracle@1', horizonMs: 3_600_000 } as const

  test('has the figures of its rule', () => {
    const found = memberOf(market, oracle, 'majors')
    expect(found).toMatchObject({
      ...{ rule: 'zone.oracle@1', horizon_hours: 1, probability: 0.99, n_eff: 1_400 },
      ...{ lift: 1.98, status: 'supported', evidence: 'live' },
    })
    expect([...Value.Errors(recordMember, found)]).toEqual([])
    expect(supportedOnly(found, 'bullish')).toBe('bullish')
  })

  test.each(Object.values(shownRules))('of $rule has the members that its schema has', (rule) => {
    const isRanked = formOfFamily[familyOf(rule.rule)] === 'rank'
    const schema = isRanked ? rankedRecordMember : recordMember
    for (const coinClass of ['majors', null] as const) {
      const found = memberOf(newMarket(new PulsePool(3)), rule, coinClass)
      expect(Object.keys(found)).toEqual(Object.keys(schema.properties))
      expect([...Value.Errors(schema, found)]).toEqual([])
    }
  })

  test('without a claim is measuring, and nothing rests on it', () => {
    const found = memberOf(market, oracle, 'tail')
    expect(found).toMatchObject({ status: 'measuring', n_eff: 0, lift: null, since: null })
    expect(supportedOnly(found, 'bullish')).toBeNull()
  })
})

test('the table of the same claims has the same figures', () => {
  const all = Array.from({ length: DAYS }, (_, at) => claims(FIRST_DAY + at)).flat()
  const table = tableOf(all.toReversed())
  expect(new Set(table.cells.map(({ status }) => status))).toEqual(
    new Set(record.cells.map(({ status }) => status)),
  )
  const oracle = table.cells.find(({ key }) => key.rule === 'zone.oracle@1')
  expect(oracle?.figures).toEqual(record.cells[0]?.figures)
  expect(renderedTable(table)).toMatch(/zone\.oracle@1 +1 h +majors +event +1400 +0 +1400 +0\.990/)
})

describe('on the first day', () => {
  const empty = newMarket(new PulsePool(3))

  test.each(['majors', 'mid', 'tail'] as const)(
    'confluence and zones of %s are not supported, by the backtest',
    (coinClass) => {
      for (const rule of [shownRules.confluence, shownRules.zones])
        expect(memberOf(empty, rule, coinClass)).toMatchObject({
          ...{ status: 'not_supported', evidence: 'backtest', since: '2025-02-21' },
        })
    },
  )

  test('a coin whose class is unknown has no record', () => {
    expect(memberOf(empty, shownRules.confluence, null)).toMatchObject({ evidence: null })
  })
})
