import type { CoinClass, RuleId } from '../../domain/track-record.ts'
import type { CellKey } from './cell.ts'
import type { RecordStatus } from './status.ts'

/**
 * Figures of a rule on recorded data, measured before this version was published by `perpscope track-record --candles`.
 * They stand in answers while the live record is `measuring`, and are never added to it.
 */
export type Baseline = CellKey & {
  readonly status: RecordStatus
  readonly effective: number
  readonly rate: number
  readonly lift: number
  readonly liftLow: number
  readonly liftHigh: number
  readonly skill: number
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
  ['confluence.bias@1', 1, 'majors', 'not_supported', 607, 0.507, 1.015, 0.934, 1.076, -0.002],
  ['confluence.bias@1', 1, 'mid', 'not_supported', 1107, 0.493, 0.985, 0.942, 1.031, -0.013],
  ['confluence.bias@1', 1, 'tail', 'not_supported', 277, 0.454, 0.92, 0.792, 1.023, -0.044],
  ['confluence.bias@1', 4, 'majors', 'not_supported', 318, 0.468, 0.929, 0.819, 1.031, -0.02],
  ['confluence.bias@1', 4, 'mid', 'not_supported', 660, 0.484, 0.963, 0.881, 1.03, -0.016],
  ['confluence.bias@1', 4, 'tail', 'not_supported', 406, 0.503, 1.007, 0.895, 1.11, -0.012],
  ['confluence.bias@1', 24, 'majors', 'not_supported', 226, 0.477, 0.94, 0.816, 1.068, -0.016],
  ['confluence.bias@1', 24, 'mid', 'not_supported', 413, 0.467, 0.921, 0.836, 1.019, -0.018],
  ['confluence.bias@1', 24, 'tail', 'measuring', 129, 0.461, 0.909, 0.723, 1.062, -0.022],
  ['volatility.har@1', 24, 'majors', 'not_supported', 484, 0.814, 0.996, 0.927, 1.049, -0.004],
  ['volatility.har@1', 24, 'mid', 'not_supported', 469, 0.797, 0.989, 0.933, 1.034, -0.011],
  ['volatility.har@1', 24, 'tail', 'not_supported', 296, 0.777, 1.008, 0.937, 1.059, 0.008],
  ['zone.reaction@1', 24, 'majors', 'not_supported', 957, 0.217, 1.03, 0.984, 1.094, 0.03],
  ['zone.reaction@1', 24, 'mid', 'not_supported', 1499, 0.241, 1.08, 1.034, 1.136, 0.012],
  ['zone.reaction@1', 24, 'tail', 'not_supported', 475, 0.247, 1.025, 0.969, 1.09, -0.033],
  ['zone.touch@1', 24, 'majors', 'not_supported', 639, 0.273, 1.018, 0.968, 1.065, 0.144],
  ['zone.touch@1', 24, 'mid', 'not_supported', 1103, 0.316, 1.001, 0.983, 1.029, 0.144],
  ['zone.touch@1', 24, 'tail', 'not_supported', 634, 0.317, 1.002, 0.945, 1.075, 0.099],
]

/** Rules that were chosen on the first half, by the second. */
const secondHalf: readonly Row[] = [
  ['cascade.atr@1', 24, 'majors', 'not_supported', 985, 0.638, 1.068, 1.037, 1.115, 0.223],
  ['cascade.atr@1', 24, 'mid', 'not_supported', 1118, 0.556, 1.125, 1.099, 1.166, 0.281],
  ['cascade.atr@1', 24, 'tail', 'not_supported', 178, 0.324, 1.117, 0.998, 1.268, 0.17],
  ['funding.reverting@1', 1, 'majors', 'not_supported', 402, 0.773, 1.057, 0.999, 1.106, 0.054],
  ['funding.reverting@1', 1, 'mid', 'not_supported', 648, 0.786, 1.054, 1.033, 1.076, 0.051],
  ['funding.reverting@1', 1, 'tail', 'measuring', 102, 0.834, 1.089, 1.055, 1.13, 0.081],
  ['volatility.blend@1', 24, 'majors', 'not_supported', 308, 0.817, 1.026, 0.988, 1.062, 0.025],
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
