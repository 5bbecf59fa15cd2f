import type { Input } from '../../domain/document.ts'
import { FUNDING_STEP_MS } from '../../domain/history.ts'
import { isoInstant } from '../../domain/instant.ts'
import { sectorOf } from '../../domain/sectors.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { MarketDocumentKind } from '../analysis.ts'
import { freshnessMeta } from '../render/answer-meta.ts'
import { completenessWarnings, coveragePct } from '../render/completeness.ts'
import { DocumentBuilder } from '../render/document-builder.ts'
import { orNull, price } from '../render/significance.ts'
import type { OverviewColumns } from './overview-columns.ts'
import { CLOSE_HOURS, FUNDING_HOURS, overviewColumns } from './overview-columns.ts'
import { OverviewAnswer } from './overview-schema.ts'

const PERIOD_MS = 60_000
const VIEW = ''

/** Recent hours of every coin, for the sparklines and the funding heat map of the console. */
export const overview: MarketDocumentKind<OverviewColumns> = {
  contract: {
    id: 'overview',
    scope: 'market',
    document: OverviewAnswer,
    defaultView: VIEW,
    viewParameters: [],
  },
  periodMs: PERIOD_MS,

  gather: overviewColumns,

  render(columns, rendering) {
    const builder = new DocumentBuilder()
    if (columns.currentCoins === 0) {
      builder.noAnswer(VIEW, { kind: 'missing-input', input: 'candles_1h' })
      return builder.build(rendering)
    }
    const inputs = inputsOf(columns)
    const members = { have: columns.currentCoins, need: columns.coins.length }
    const answer = builder.value({
      timestamp_iso: isoInstant(rendering.renderedAtMs),
      closes_from_ms: orNull(columns.firstCloseHour, (hour) => hour * timeframeMs['1h']),
      funding_from_ms: orNull(columns.firstFundingHour, (hour) => hour * FUNDING_STEP_MS),
      coins: columns.coins.map((coin, row) => ({
        coin,
        sector: sectorOf(coin) ?? null,
        closes: rowOf(columns.closes, row, CLOSE_HOURS, price),
        funding_bps: rowOf(columns.fundingRates, row, FUNDING_HOURS, rateBps),
      })),
      meta: { ...freshnessMeta(builder, inputs), snapshot_id: rendering.snapshotId },
    })
    builder.answer(VIEW, [answer], {
      inputs,
      coveragePct: coveragePct(members),
      warnings: completenessWarnings({ members }),
    })
    return builder.build({ ...rendering, nextUpdateMs: rendering.renderedAtMs + PERIOD_MS })
  },
}

function rowOf(
  table: Float64Array,
  row: number,
  width: number,
  round: (value: number) => number,
): readonly (number | null)[] {
  return Array.from(table.subarray(row * width, (row + 1) * width), (value) => orNull(value, round))
}

/** Basis points of a fraction: four decimals, which are eight of the fraction, as in `/funding`. */
function rateBps(fraction: number): number {
  return Math.round(fraction * 1e8) / 1e4
}

/** Each input with its oldest confirmation. */
function inputsOf({ candlesConfirmedAtMs, firstFundingHour }: OverviewColumns): readonly Input[] {
  const candles: Input = {
    name: 'candles_1h',
    confirmedAtMs: candlesConfirmedAtMs,
    cadenceMs: PERIOD_MS,
    isLoadBearing: true,
  }
  if (Number.isNaN(firstFundingHour)) return [candles]
  const settledAtMs = (firstFundingHour + FUNDING_HOURS - 1) * FUNDING_STEP_MS
  return [
    candles,
    {
      name: 'funding',
      confirmedAtMs: settledAtMs,
      cadenceMs: FUNDING_STEP_MS,
      isLoadBearing: false,
    },
  ]
}
