import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { Memory } from '../domain/history.ts'
import {
  recordedHistory,
  recordedMeasure,
  restoredHistory,
  restoredMeasure,
} from './recorded-history.ts'

const timeMs = fc.integer({ min: 0, max: 4e12 })
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(-0))
const optional = fc.option(number)
const volumeBase = fc.double({ min: 0, max: 1e30, noNaN: true })
/** Ascending: a bar that cannot be is left out. */
const prices = fc
  .array(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), { minLength: 4, maxLength: 4 })
  .map((four) => four.sort((one, other) => one - other) as [number, number, number, number])
const coin = fc.string()

const fundings = fc.record({
  coin,
  series: fc.constant('fundings' as const),
  rows: fc.array(
    fc.record({ timeMs, rateHourly: number, premium: optional, isSettled: fc.boolean() }),
  ),
})
const hours = fc.record({
  coin,
  series: fc.constant('hours' as const),
  rows: fc.array(
    fc
      .tuple(fc.record({ openTimeMs: timeMs, volumeBase }), prices)
      .map(([bar, [low, open, close, high]]) => ({ ...bar, open, high, low, close })),
  ),
})
const samples = fc.record({
  coin,
  series: fc.constantFrom('quarters' as const, 'minutes' as const),
  rows: fc.array(
    fc.record({
      timeMs,
      ...{ markPrice: number, oraclePrice: number, openInterestBase: number },
      ...{ dayNotional: number, fundingRateHourly: number },
      ...{ premium: optional, spreadBps: optional, impactSpreadBps: optional },
    }),
  ),
})

test.prop([fc.oneof(fundings, hours, samples)])(
  'loaded history survives JSON bit for bit',
  (drawn) => {
    const rows = drawn.rows.map((row) =>
      drawn.series === 'hours' ? row : { coin: drawn.coin, ...row },
    )
    const history = { ...drawn, rows } as unknown as Memory
    const text = JSON.stringify(recordedHistory(history))
    expect(restoredHistory(JSON.parse(text))).toEqual(history)
  },
)

test('an impossible recorded bar is left out', () => {
  const sound = { openTimeMs: 0, open: 2, high: 3, low: 1, close: 2, volumeBase: 1 }
  const rows = [sound, { ...sound, openTimeMs: 1, open: 9 }]
  const recorded = recordedHistory({ series: 'hours', coin: 'BTC', rows })
  expect(restoredHistory(recorded).rows).toEqual([sound])
})

test.prop([fc.string(), fc.array(fc.record({ timeMs, value: number }))])(
  'loaded history of a measure survives JSON bit for bit',
  (series, rows) => {
    const times = { timeExchangeMs: 1, timeReceivedMs: 2 }
    const event: MeasureHistoryEvent = { kind: 'measure-history', series, rows, ...times }
    const text = JSON.stringify(recordedMeasure(event))
    expect(restoredMeasure(JSON.parse(text))).toEqual(event)
  },
)
