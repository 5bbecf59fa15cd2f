import type { Drivers, Regime } from './regime-rule.ts'
import { driverNames, REGIME_RULE_VERSION, regimeLabels } from './regime-rule.ts'

/** Raised whenever the meaning of a saved number changes. */
const LAYOUT = 1
const HEADER_FIELDS = 9

/** Encodes a regime for the checkpoint; empty for none. NaN encodes null. */
export function regimeToNumbers(regime: Regime | null): Float64Array {
  if (regime === null) return new Float64Array()
  const { label, previous, drivers } = regime
  return Float64Array.from([
    LAYOUT,
    Number(REGIME_RULE_VERSION),
    regimeLabels.indexOf(label),
    previous === null ? Number.NaN : regimeLabels.indexOf(previous),
    regime.sinceMs,
    regime.asOfMs,
    regime.onCount,
    regime.offCount,
    regime.calmCount,
    ...driverNames.map((name) => drivers?.[name] ?? Number.NaN),
  ])
}

/** @returns undefined for numbers that {@link regimeToNumbers} of this rule did not produce */
export function regimeFromNumbers(saved: Float64Array): Regime | null | undefined {
  if (saved.length === 0) return null
  const field = (at: number) => saved[at] as number
  const label = regimeLabels[field(2)]
  if (saved.length !== HEADER_FIELDS + driverNames.length) return undefined
  if (field(0) !== LAYOUT || field(1) !== Number(REGIME_RULE_VERSION) || label === undefined)
    return undefined
  const values = [...saved.subarray(HEADER_FIELDS)]
  const drivers = values.some(Number.isNaN)
    ? null
    : (Object.fromEntries(driverNames.map((name, at) => [name, values[at]])) as Drivers)
  return {
    label,
    previous: regimeLabels[field(3)] ?? null,
    sinceMs: field(4),
    asOfMs: field(5),
    drivers,
    onCount: field(6),
    offCount: field(7),
    calmCount: field(8),
  }
}
