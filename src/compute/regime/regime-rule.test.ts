import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { naiveRegimes } from '../../../test/golden/naive-regime.ts'
import type { Regime, RegimeInputs } from './regime-rule.ts'
import {
  compositeOf,
  contributionOf,
  driverNames,
  driverRules,
  driversOf,
  nextRegime,
  REGIME_GAP_MS_MAX,
  REGIME_STEP_MS,
} from './regime-rule.ts'
import { regimeFromNumbers, regimeToNumbers } from './saved-regime.ts'

const START_MS = Date.UTC(2026, 0, 1)

const calm: RegimeInputs = {
  btcStack: 'flat',
  btcDirection: 0,
  aboveEma50Share: 0.5,
  medianReturn7d: 0,
  btcVolatilityPercentile: 50,
  btcChange24hPct: 0,
}

/** Inputs whose composite is that number, by trend and breadth alone. */
function worth(composite: number): RegimeInputs {
  const btcStack = composite > 0 ? 'bull_aligned' : 'bear_aligned'
  const rest = composite - Math.sign(composite) * 0.4
  return { ...calm, btcStack, aboveEma50Share: (rest / 0.3 + 1) / 2 }
}

const anyInputs: fc.Arbitrary<RegimeInputs> = fc.record(
  {
    btcStack: fc.constantFrom('bull_aligned', 'bear_aligned', 'mixed', 'flat'),
    btcDirection: fc.constantFrom(-1, 0, 1),
    aboveEma50Share: fc.double({ min: 0, max: 1, noNaN: true }),
    medianReturn7d: fc.double({ min: -0.9, max: 3, noNaN: true }),
    btcVolatilityPercentile: fc.oneof(
      fc.double({ min: 0, max: 100, noNaN: true }),
      fc.constantFrom(94.9, 95, 100),
    ),
    btcChange24hPct: fc.oneof(
      fc.double({ min: -30, max: 30, noNaN: true }),
      fc.constantFrom(-5, -4.9),
    ),
    arbStressScore: fc.constantFrom(0, 0.74, 0.75),
    isPegBroken: fc.boolean(),
  },
  {
    requiredKeys: [
      'btcStack',
      'btcDirection',
      'aboveEma50Share',
      'medianReturn7d',
      'btcVolatilityPercentile',
      'btcChange24hPct',
    ],
  },
)

/** Mostly one step after the other, now and then a leap or a step back. */
const anyCourse = fc.array(
  fc.record({
    steps: fc.oneof(
      { weight: 12, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.constantFrom(2, 23, 24, 25, 300, -1, -30) },
    ),
    inputs: fc.oneof(
      { weight: 8, arbitrary: anyInputs },
      { weight: 8, arbitrary: fc.double({ min: -0.69, max: 0.69, noNaN: true }).map(worth) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
  }),
  { minLength: 1, maxLength: 60 },
)

describe('regime rule', () => {
  property.prop([anyCourse])('gives the labels that a look back at everything gives', (course) => {
    const { regimes, evaluations } = run(course)
    expect(regimes.map(({ label, sinceMs, previous }) => ({ label, sinceMs, previous }))).toEqual(
      naiveRegimes(evaluations),
    )
  })

  property.prop([anyCourse])('continues from saved numbers the same', (course) => {
    let regime: Regime | null = null
    let restored: Regime | null = null
    let atMs = START_MS
    for (const { steps, inputs } of course) {
      atMs += steps * REGIME_STEP_MS
      regime = nextRegime(regime, inputs, atMs)
      restored = nextRegime(restored, inputs, atMs)
      const numbers = regimeToNumbers(restored)
      restored = regimeFromNumbers(numbers) ?? null
      expect(restored).toEqual(regime)
    }
  })

  property.prop([anyInputs])('has a composite that is the sum of contributions', (inputs) => {
    const drivers = driversOf(inputs)
    let [sum, thousandths] = [0, 0]
    for (const name of driverNames) {
      expect(Math.abs(drivers[name])).toBeLessThanOrEqual(1)
      sum += driverRules[name].weight * drivers[name]
      thousandths += Math.round(1_000 * contributionOf(drivers, name))
    }
    expect(compositeOf(drivers), 'as printed').toBe(thousandths / 1_000)
    expect(Math.abs(compositeOf(drivers) - sum)).toBeLessThan(0.0026)
    expect(Math.abs(compositeOf(drivers))).toBeLessThanOrEqual(1)
  })

  test.each(driverNames)('rounds every contribution of %s half away from zero', (name) => {
    const hundredths = Math.round(100 * driverRules[name].weight)
    const none = { btc_trend_4h: 0, breadth: 0, momentum_7d: 0, btc_volatility: 0 }
    for (let value = -1_000; value <= 1_000; value += 1) {
      // In whole numbers: 15 hundredths of 190 thousandths are 28.5 thousandths.
      const thousandths = Math.floor((hundredths * Math.abs(value) + 50) / 100)
      const expected = value < 0 ? -thousandths : thousandths
      const drivers = { ...none, [name]: value / 1_000 }
      expect(1_000 * contributionOf(drivers, name), `${value}`).toBeCloseTo(expected, 9)
    }
  })

  test('a contribution of 0.15 x 0.19 is 0.029', () => {
    const drivers = { btc_trend_4h: 0, breadth: 0, momentum_7d: 0.19, btc_volatility: -0.19 }
    expect(contributionOf(drivers, 'momentum_7d')).toBe(0.029)
    expect(contributionOf(drivers, 'btc_volatility')).toBe(-0.029)
  })

  test('weighs its drivers to one', () => {
    expect(driverNames.reduce((sum, name) => sum + driverRules[name].weight, 0)).toBeCloseTo(1, 12)
  })

  test.each([
    ['bull_aligned', -1, 1],
    ['mixed', 1, 0.5],
    ['mixed', 0, 0],
    ['mixed', -1, -0.5],
    ['bear_aligned', 1, -1],
    ['flat', 1, 0],
  ] as const)('BTC that is %s with direction %i counts %f', (btcStack, btcDirection, expected) => {
    expect(driversOf({ ...calm, btcStack, btcDirection }).btc_trend_4h).toBe(expected)
  })

  test.each([
    { said: 'one evaluation above the limit is none', course: [0.3], label: 'NEUTRAL' },
    { said: 'two in a row are RISK_ON', course: [0.3, 0.3], label: 'RISK_ON' },
    { said: 'two that are apart are not', course: [0.3, 0.2, 0.3], label: 'NEUTRAL' },
    { said: 'RISK_ON stays above the lower limit', course: [0.3, 0.3, 0.11], label: 'RISK_ON' },
    { said: 'and ends below it', course: [0.3, 0.3, 0.09], label: 'NEUTRAL' },
    { said: 'two below are RISK_OFF', course: [-0.3, -0.3], label: 'RISK_OFF' },
    { said: 'which stays below', course: [-0.3, -0.3, -0.11], label: 'RISK_OFF' },
    { said: 'and ends above', course: [-0.3, -0.3, -0.09], label: 'NEUTRAL' },
    { said: 'a turn takes two evaluations', course: [0.3, 0.3, -0.3], label: 'NEUTRAL' },
    { said: 'and then is made', course: [0.3, 0.3, -0.3, -0.3], label: 'RISK_OFF' },
  ])('$said', ({ course, label }) => {
    const { regimes } = run(course.map((composite) => ({ steps: 1, inputs: worth(composite) })))
    expect(regimes.at(-1)?.label).toBe(label)
  })

  test.each([
    [{ btcVolatilityPercentile: 95, btcChange24hPct: -5 }, 'STRESS'],
    [{ btcVolatilityPercentile: 94.9, btcChange24hPct: -20 }, 'NEUTRAL'],
    [{ btcVolatilityPercentile: 100, btcChange24hPct: -4.9 }, 'NEUTRAL'],
    [{ arbStressScore: 0.75 }, 'STRESS'],
    [{ arbStressScore: 0.749 }, 'NEUTRAL'],
    [{ isPegBroken: true }, 'STRESS'],
    [{ isPegBroken: false }, 'NEUTRAL'],
  ])('%o is %s at once', (changes, label) => {
    expect(nextRegime(null, { ...calm, ...changes }, START_MS).label).toBe(label)
  })

  test('STRESS ends after two calm evaluations, and names the previous label', () => {
    const { regimes } = run(
      [{ ...calm, isPegBroken: true }, calm, calm].map((inputs) => ({ steps: 1, inputs })),
    )
    expect(regimes.map(({ label }) => label)).toEqual(['STRESS', 'STRESS', 'NEUTRAL'])
    expect(regimes.at(-1)).toMatchObject({
      previous: 'STRESS',
      sinceMs: START_MS + 3 * REGIME_STEP_MS,
    })
  })

  test('missing inputs are UNKNOWN immediately, without drivers', () => {
    const known = nextRegime(null, calm, START_MS)
    const unknown = nextRegime(known, null, START_MS + REGIME_STEP_MS)
    expect(unknown).toMatchObject({ label: 'UNKNOWN', previous: 'NEUTRAL', drivers: null })
  })

  test('what was before a long gap is not continued', () => {
    const before = run([0.3, 0.3].map((composite) => ({ steps: 1, inputs: worth(composite) })))
    const on = before.regimes.at(-1) as Regime
    const labelAfter = (gapMs: number) => nextRegime(on, worth(0.2), on.asOfMs + gapMs).label
    expect(labelAfter(REGIME_GAP_MS_MAX)).toBe('RISK_ON')
    expect(labelAfter(REGIME_GAP_MS_MAX + REGIME_STEP_MS)).toBe('NEUTRAL')
  })

  test('the label after a long gap begins there, and the one before is UNKNOWN', () => {
    const before = nextRegime(null, calm, START_MS)
    const endMs = START_MS + 10 * REGIME_GAP_MS_MAX
    expect(nextRegime(before, calm, endMs)).toMatchObject({
      ...{ label: 'NEUTRAL', previous: 'UNKNOWN', sinceMs: endMs },
    })
    expect(nextRegime(before, null, endMs)).toMatchObject({
      ...{ label: 'UNKNOWN', previous: 'NEUTRAL', sinceMs: START_MS + REGIME_GAP_MS_MAX },
    })
  })

  test.each([
    { composite: 0.2496, label: 'RISK_ON' },
    { composite: 0.2494, label: 'NEUTRAL' },
    { composite: -0.2496, label: 'RISK_OFF' },
  ])('a composite of $composite is judged as it is printed', ({ composite, label }) => {
    const course = [composite, composite].map((one) => ({ steps: 1, inputs: worth(one) }))
    expect(run(course).regimes.at(-1)?.label).toBe(label)
  })

  test.each([
    ['another layout', [2]],
    ['a label that is none', [1, 1, 9]],
  ])('numbers of %s are refused', (_what, begin) => {
    const numbers = regimeToNumbers(nextRegime(null, calm, START_MS))
    numbers.set(begin)
    expect(regimeFromNumbers(numbers)).toBeUndefined()
  })

  test('nothing saved is nothing known', () => {
    expect(regimeFromNumbers(regimeToNumbers(null))).toBeNull()
    expect(regimeFromNumbers(new Float64Array(5))).toBeUndefined()
  })
})

function run(course: readonly { readonly steps: number; readonly inputs: RegimeInputs | null }[]) {
  let regime: Regime | null = null
  let atMs = START_MS
  const regimes: Regime[] = []
  const evaluations = course.map(({ steps, inputs }) => {
    atMs += steps * REGIME_STEP_MS
    regime = nextRegime(regime, inputs, atMs)
    regimes.push(regime)
    return {
      atMs,
      composite: inputs === null ? null : compositeOf(driversOf(inputs)),
      isStressed: inputs !== null && isStressedByHand(inputs),
    }
  })
  return { regimes, evaluations }
}

function isStressedByHand(inputs: RegimeInputs): boolean {
  if (inputs.isPegBroken) return true
  if ((inputs.arbStressScore ?? 0) >= 0.75) return true
  return inputs.btcVolatilityPercentile >= 95 && inputs.btcChange24hPct <= -5
}
