import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { numericFields } from '../../testing/schema-fields.ts'
import { HAR_CLOSES_MAX } from '../../volatility/har-forecast.ts'
import { barsMin, volatilityWindows } from './realised-volatility.ts'
import { VolatilityAnswer } from './volatility-schema.ts'

describe('schema of the volatility answer', () => {
  test('has every measured window with its full and required bars', () => {
    const fields = new Map(numericFields(VolatilityAnswer).map((field) => [field.path, field]))
    for (const [name, { barMs, windowMs }] of Object.entries(volatilityWindows)) {
      const full = windowMs / barMs
      expect(fields.get(`realised.${name}.bars`)?.description).toContain(`of ${full}:`)
      expect(fields.get(`realised.${name}.yang_zhang_pct`)?.description).toContain(
        `null below ${barsMin(full)} bars.`,
      )
    }
    expect(fields.get('forecast_24h.fitted_on_hours')?.description).toContain(`${HAR_CLOSES_MAX}`)
  })

  test('accepts numbers, and null for unknown ones', () => {
    const { realised, forecast_24h } = VolatilityAnswer.properties
    const window = Compile(realised.properties['24h'])
    const known = {
      close_to_close_pct: 39.3626,
      parkinson_pct: 35.887,
      yang_zhang_pct: 35.242,
      parkinson_to_close_ratio: 0.912,
      bars: 96,
    }
    const unknown = Object.fromEntries(Object.keys(known).map((name) => [name, null]))
    expect(window.Check(known)).toBe(true)
    expect(window.Check({ ...unknown, bars: 0 })).toBe(true)
    expect(window.Check({ ...known, bars: 97 })).toBe(false)
    const forecast = Compile(forecast_24h)
    const record = {
      ...{ rule: 'volatility.har@1', horizon_hours: 24, status: 'measuring', n_eff: 0 },
      ...{ probability: null, lift: null, lift_low: null, skill: null },
      ...{ since: null, evidence: null },
    }
    const empty = {
      volatility_pct: null,
      method: 'har_log_ridge',
      fitted_on_hours: 0,
      out_of_sample_error_pct: null,
      naive_error_pct: null,
      evaluations: 0,
      track_record: record,
      blend_pct: null,
      blend_low_pct: null,
      blend_high_pct: null,
      blend_track_record: { ...record, rule: 'volatility.blend@1' },
    }
    expect(forecast.Check(empty)).toBe(true)
    expect(forecast.Check({ ...empty, method: 'guess' })).toBe(false)
  })
})
