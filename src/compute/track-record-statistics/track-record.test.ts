import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { ResolvedClaim } from '../../domain/track-record.ts'
import { DAY_MS } from './blocks.ts'
import { event, FIRST_DAY, plantedClaim, recordOf } from './testing/planted-claims.ts'
import { isDead, TrackRecord } from './track-record.ts'

const voided = (day: number) =>
  plantedClaim(day, event(0.5, true)[0], { kind: 'void', reason: 'restart' })

const rank = (day: number, score: number, control: number, value: number) =>
  plantedClaim(day, { form: 'rank', score, control }, { kind: 'value', value })

const quantiles = (day: number, centre: number, controlCentre: number, value: number) => {
  const around = (middle: number) => [-4, -2, -1, 0, 1, 2, 4].map((step) => middle + step)
  return plantedClaim(
    day,
    { form: 'quantiles', values: around(centre), control: around(controlCentre) },
    { kind: 'value', value },
  )
}

describe('track record', () => {
  test('counts open, void and abstained claims, none of them as a hit or a miss', () => {
    const record = new TrackRecord()
    const [made, seen] = [plantedClaim(FIRST_DAY, ...event(0.5, true)), voided(FIRST_DAY)]
    record.made(made)
    record.made(seen)
    record.resolved(seen)
    record.abstained(made, made.madeAtMs)
    const cell = record.cell(made)
    expect(cell?.open).toBe(1)
    record.resolved(made)
    record.advance({ venueMs: (FIRST_DAY + 2) * DAY_MS })
    expect(cell?.open).toBe(0)
    expect(cell?.figures).toMatchObject({ observed: 1, voids: 1, abstained: 1, rate: 1 })
  })

  test('a day closes when its last outcome can no longer arrive, and what arrives later is void', () => {
    const record = new TrackRecord()
    const claim = plantedClaim(FIRST_DAY, ...event(0.5, true))
    record.made(claim)
    record.resolved(claim)
    record.advance({ venueMs: (FIRST_DAY + 1) * DAY_MS + 14 * 3_600_000 - 1 })
    expect(record.cell(claim)?.blocks).toHaveLength(0)
    record.advance({ venueMs: (FIRST_DAY + 1) * DAY_MS + 14 * 3_600_000 })
    expect(record.cell(claim)?.blocks).toHaveLength(1)
    record.made(claim)
    record.resolved(claim)
    expect(record.cell(claim)?.blocks.at(-1)?.[3]).toBe(1)
  })

  test('a changed rule begins without a record, and the old one is dead after 30 days', () => {
    const record = recordOf(60, (day) => [
      plantedClaim(day, ...event(0.5, true), {
        rule: day < FIRST_DAY + 25 ? 'confluence.bias@1' : 'confluence.bias@2',
      }),
    ])
    const [old, changed] = record.cells
    expect(old?.figures.observed).toBe(25)
    expect(changed?.figures.observed).toBe(35)
    const nowMs = (FIRST_DAY + 60) * DAY_MS
    expect(old && isDead(old, nowMs)).toBe(true)
    expect(changed && isDead(changed, nowMs)).toBe(false)
  })

  test('a rank rule that orders as well as the control is not better; a perfect one has skill 1', () => {
    const days = (score: (value: number) => number) =>
      recordOf(20, (day) =>
        Array.from({ length: 12 }, (_, at) => rank(day, score(at), (at * 5) % 12, at)),
      ).cells[0]?.figures
    expect(days((value) => value)).toMatchObject({ rate: 1, skill: 1 })
    const same = days((value) => (value * 5) % 12)
    expect(same?.lift).toBe(1)
    expect(same?.skill).toBe(0)
  })

  test('quantiles state coverage, pinball loss and skill against the control', () => {
    const record = recordOf(20, (day) =>
      [-3, -1.5, 0, 0.5, 1.5].map((value) => quantiles(day, 0, 3, value)),
    )
    const figures = record.cells[0]?.figures
    expect(figures?.coverage).toEqual([0.4, 0.8, 1])
    expect(figures?.rate).toBe(0.8)
    expect(figures?.lift).toBeGreaterThan(1)
    expect(figures?.skill).toBeCloseTo(1 - (figures?.loss ?? 0) / (figures?.controlLoss ?? 0), 12)
  })

  test('a control that is an event of its own states its own rate', () => {
    const claim = (day: number, happened: boolean, controlHappened: boolean) =>
      plantedClaim(
        day,
        { form: 'event', probability: 0.5, control: null },
        { kind: 'event', happened, controlHappened },
      )
    const record = recordOf(20, (day) => [claim(day, true, day % 2 === 0), claim(day, false, true)])
    // The control happens in 3 of 4; its Brier loss for a half is 0.75 ** 2 - 0.75 + 0.5.
    expect(record.cells[0]?.figures).toMatchObject({
      rate: 0.5,
      controlRate: 0.75,
      lift: 0.5 / 0.75,
      skill: expect.closeTo(1 - 0.25 / 0.3125, 12),
    })
  })
})

const claimsOf = fc.array(
  fc.record({
    day: fc.integer({ min: 0, max: 70 }),
    kind: fc.constantFrom('event', 'rank', 'quantiles', 'void'),
    horizon: fc.constantFrom(1, 24),
    a: fc.double({ min: 0, max: 1, noNaN: true }),
    b: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 80 },
)

type Drawn = {
  readonly day: number
  readonly kind: string
  readonly horizon: number
  readonly a: number
  readonly b: number
}

function claimFrom({ day, kind, horizon, a, b }: Drawn): ResolvedClaim {
  const made =
    kind === 'rank'
      ? rank(FIRST_DAY + day, a, b, a - b)
      : kind === 'quantiles'
        ? quantiles(FIRST_DAY + day, a, b, 3 * a)
        : kind === 'void'
          ? voided(FIRST_DAY + day)
          : plantedClaim(FIRST_DAY + day, ...event(a, a < b, b))
  const horizonMs = horizon * 3_600_000
  const rule = `confluence.${kind === 'void' ? 'event' : kind}@1` as const
  return { ...made, rule, horizonMs, resolvedAtMs: made.madeAtMs + horizonMs }
}

property.prop([claimsOf, fc.nat(80)], { numRuns: 60 })(
  'a restart between any two claims changes nothing',
  (drawn, cut) => {
    const all = drawn.toSorted((one, other) => one.day - other.day).map(claimFrom)
    const straight = new TrackRecord()
    let restarted = new TrackRecord()
    for (const [at, claim] of all.entries()) {
      if (at === cut % all.length) {
        const next = new TrackRecord()
        expect(next.restore(restarted.save())).toBe(true)
        restarted = next
      }
      for (const record of [straight, restarted]) {
        record.made(claim)
        record.resolved(claim)
        record.advance({ venueMs: claim.madeAtMs })
      }
    }
    for (const record of [straight, restarted])
      record.advance({ venueMs: (FIRST_DAY + 90) * DAY_MS })
    expect(restarted.save()).toEqual(straight.save())
    expect(restarted.cells.map(({ figures }) => figures)).toEqual(
      straight.cells.map(({ figures }) => figures),
    )
  },
)

test('damaged numbers are refused', () => {
  expect(new TrackRecord().restore(Float64Array.of(1, 2))).toBe(false)
  expect(new TrackRecord().restore(Float64Array.of(9, 1))).toBe(false)
})

test('a rank that orders less well than the control is not supported, not inverted', () => {
  const cell = recordOf(120, (day) =>
    Array.from({ length: 20 }, (_, at) => rank(day, (at * 7) % 20, at, at)),
  ).cells[0]
  expect(cell?.figures.liftHigh).toBeLessThan(1)
  expect(cell?.status).toBe('not_supported')
})
