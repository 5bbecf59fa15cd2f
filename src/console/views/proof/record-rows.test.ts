import { expect, test } from 'vitest'
import { recordRows, reliabilityOf } from './record-rows.ts'

const head = { rule: 'zone.touch@1', horizon_hours: 24, coin_class: 'mid' }
const figures = { n_eff: 300, lift: 1.1, lift_low: 1.05, lift_high: 1.2, skill: 0.1 }
const backtest = { ...head, ...figures, status: 'not_supported', until_iso: '2025-07-26' }
const live = (status: string, reliability = [{ n: 10, stated: 0.55, happened: 0.5 }]) => ({
  ...head,
  ...{ status, since: '2026-01-01', windows: [{ ...figures, lift: 2 }], reliability },
  claimed_until_iso: null,
})

test.each([
  ['measuring', 'backtest', 1.1],
  ['supported', 'live', 2],
])('a %s record shows the %s', (status, evidence, lift) => {
  const rows = recordRows({ records: [live(status)], backtests: [backtest] })
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({ evidence, lift, name: 'zone.touch@1 24 mid' })
})

test('a record without a backtest is shown as it is', () => {
  const [row] = recordRows({ records: [live('measuring')], backtests: [] })
  expect(row).toMatchObject({ evidence: 'live', status: 'measuring', day: '2026-01-01' })
})

test('a rule that is not claimed now has the day of its newest claim', () => {
  const ended = { ...live('supported'), claimed_until_iso: '2026-02-03T12:15:00.000Z' }
  const rows = recordRows({
    records: [live('supported'), { ...ended, horizon_hours: 4 }],
    backtests: [],
  })
  expect(rows.map(({ claimedUntil }) => claimedUntil)).toEqual(['2026-02-03', null])
})

test('records without a backtest are in the order of rule, horizon and class', () => {
  const recordOf = (rule: string, horizon_hours: number, coin_class: string) => ({
    ...live('measuring'),
    ...{ rule, horizon_hours, coin_class },
  })
  const records = [
    recordOf('vote.trend@2', 24, 'majors'),
    recordOf('vote.rsi@2', 24, 'mid'),
    recordOf('vote.trend@2', 4, 'tail'),
    recordOf('vote.trend@2', 4, 'mid'),
  ]
  expect(recordRows({ records, backtests: [] }).map(({ name }) => name)).toEqual([
    'vote.rsi@2 24 mid',
    'vote.trend@2 4 mid',
    'vote.trend@2 4 tail',
    'vote.trend@2 24 majors',
  ])
})

test('bins add up by their claims within a family, and never across', () => {
  const one = live('measuring')
  const other = live('measuring', [
    { n: 30, stated: 0.59, happened: 0.7 },
    { n: 5, stated: 0.1, happened: 0 },
  ])
  const ofOtherFamily = { ...live('measuring'), rule: 'peg.level@1' }
  const without = { ...live('measuring', []), rule: 'cascade.score@1' }
  const families = reliabilityOf({ records: [one, ofOtherFamily, other, without] })
  expect([...families]).toEqual([
    [
      'zone',
      [
        { n: 5, stated: 0.1, happened: 0 },
        { n: 40, stated: expect.closeTo(0.58, 9), happened: expect.closeTo(0.65, 9) },
      ],
    ],
    ['peg', [{ n: 10, stated: 0.55, happened: 0.5 }]],
  ])
})
