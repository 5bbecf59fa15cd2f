import type { CoinClass, RuleId } from '../../domain/track-record.ts'
import type { CellKey } from './cell.ts'
import type { RecordStatus, StatusChange } from './status.ts'

/**
 * Figures of a rule on recorded data, measured before this version was published by `perpscope track-record --candles`.
 * They stand in answers while the live record is `measuring`, and are never added to it.
 */
export type Baseline = CellKey &
  Omit<StatusChange, 'day' | 'evidence' | 'needed' | 'controlRate'> & {
    /** First and last day of the data, UTC, ISO 8601. */
    readonly fromIso: string
    readonly untilIso: string
    /** Recorded data, in words. */
    readonly source: string
  }

type Row = readonly [
  rule: RuleId,
  horizonHours: number,
  coinClass: CoinClass,
  status: RecordStatus,
  effective: number,
  rate: number,
  lift: number,
  liftLow: number,
  liftHigh: number,
  skill: number,
]

const SOURCE = 'Candles and settled funding of 16 perpetuals of Hyperliquid'

/** Rules that were not chosen on these data. */
const wholePeriod: readonly Row[] = [
  ['cascade.score@1', 24, 'majors', 'not_supported', 655, 0.12, 0.719, 0.676, 0.765, -0.986],
  ['cascade.score@1', 24, 'mid', 'not_supported', 792, 0.024, 0.664, 0.635, 0.697, -1.128],
  ['cascade.score@1', 24, 'tail', 'not_supported', 775, -0.018, 0.83, 0.756, 0.908, -0.246],
  ['confluence.bias@2', 1, 'majors', 'not_supported', 368, 0.474, 0.946, 0.847, 1.055, -0.012],
  ['confluence.bias@2', 1, 'mid', 'not_supported', 1048, 0.496, 0.992, 0.931, 1.055, -0.005],
  ['confluence.bias@2', 1, 'tail', 'not_supported', 381, 0.464, 1.006, 0.917, 1.093, -0.096],
  ['confluence.bias@2', 4, 'majors', 'not_supported', 512, 0.467, 0.932, 0.847, 1.01, -0.02],
  ['confluence.bias@2', 4, 'mid', 'not_supported', 966, 0.462, 0.92, 0.854, 0.982, -0.029],
  ['confluence.bias@2', 4, 'tail', 'not_supported', 436, 0.493, 1.005, 0.901, 1.1, -0.007],
  ['confluence.bias@2', 24, 'majors', 'not_supported', 192, 0.445, 0.877, 0.743, 1.022, -0.027],
  ['confluence.bias@2', 24, 'mid', 'not_supported', 321, 0.495, 0.977, 0.864, 1.079, -0.009],
  ['confluence.bias@2', 24, 'tail', 'measuring', 119, 0.52, 1.026, 0.825, 1.2, 0.004],
  ['volatility.har@1', 24, 'majors', 'not_supported', 483, 0.814, 0.996, 0.927, 1.049, -0.004],
  ['volatility.har@1', 24, 'mid', 'not_supported', 468, 0.797, 0.989, 0.933, 1.034, -0.011],
  ['volatility.har@1', 24, 'tail', 'not_supported', 296, 0.777, 1.008, 0.937, 1.059, 0.008],
  ['zone.reaction@2', 24, 'majors', 'not_supported', 931, 0.205, 1.041, 0.979, 1.1, 0.033],
  ['zone.reaction@2', 24, 'mid', 'not_supported', 1625, 0.229, 1.04, 0.996, 1.086, 0.03],
  ['zone.reaction@2', 24, 'tail', 'not_supported', 1034, 0.237, 1.099, 1.018, 1.205, 0.002],
  ['zone.touch@1', 24, 'majors', 'not_supported', 638, 0.273, 1.018, 0.968, 1.065, 0.144],
  ['zone.touch@1', 24, 'mid', 'not_supported', 1102, 0.316, 1.001, 0.983, 1.029, 0.144],
  ['zone.touch@1', 24, 'tail', 'not_supported', 633, 0.317, 1.002, 0.945, 1.075, 0.099],
]

/** Rules that were chosen on the first half, by the second. */
const secondHalf: readonly Row[] = [
  ['cascade.atr@2', 24, 'majors', 'not_supported', 1486, 0.655, 1.073, 1.046, 1.1, 0.247],
  ['cascade.atr@2', 24, 'mid', 'not_supported', 1203, 0.577, 1.132, 1.105, 1.168, 0.303],
  ['cascade.atr@2', 24, 'tail', 'measuring', 95, 0.292, 1.2, 1.081, 1.338, 0.234],
  ['funding.reverting@1', 1, 'majors', 'not_supported', 402, 0.773, 1.057, 0.999, 1.106, 0.054],
  ['funding.reverting@1', 1, 'mid', 'not_supported', 648, 0.786, 1.054, 1.033, 1.076, 0.051],
  ['funding.reverting@1', 1, 'tail', 'measuring', 101, 0.834, 1.089, 1.055, 1.13, 0.081],
  ['volatility.blend@1', 24, 'majors', 'not_supported', 307, 0.817, 1.026, 0.988, 1.062, 0.025],
  ['volatility.blend@1', 24, 'mid', 'not_supported', 462, 0.798, 1.029, 0.993, 1.057, 0.028],
  ['volatility.blend@1', 24, 'tail', 'measuring', 172, 0.806, 1.057, 0.992, 1.109, 0.054],
]

export const baselines: readonly Baseline[] = [
  ...wholePeriod.map((row) => baselineOf(row, '2025-02-21')),
  ...secondHalf.map((row) => baselineOf(row, '2025-05-09')),
]

function baselineOf(
  [rule, horizonHours, coinClass, status, effective, rate, lift, liftLow, liftHigh, skill]: Row,
  fromIso: string,
): Baseline {
  return {
    ...{ rule, horizonMs: horizonHours * 3_600_000, coinClass, status, effective },
    ...{ rate, lift, liftLow, liftHigh, skill },
    ...{ fromIso, untilIso: '2025-07-26', source: SOURCE },
  }
}
