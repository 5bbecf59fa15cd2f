import type { Answers } from '../../../client/answers.ts'
import type { Sector } from '../../../domain/sectors.ts'
import { sectorOf, sectors } from '../../../domain/sectors.ts'

type AnswerRow = Answers['screener']['coins'][number]
type FullRow = Extract<AnswerRow, { readonly rsi_14: number }>
type ShortRow = Exclude<AnswerRow, FullRow>

/** A coin of the screener; an answer with short rows lacks some members. */
export type ScreenerRow = ShortRow & Partial<Omit<FullRow, keyof ShortRow>>

export const NO_SECTOR = 'none'
export const trends = ['bullish', 'bearish', 'neutral'] as const
export const crowdings = ['LONG_PAYING', 'SHORT_PAYING', 'NEUTRAL'] as const
export const volumesUsd = [1e6, 1e7, 1e8, 1e9] as const

/** What a visitor wants to see; null for everything. */
export type ScreenerFilters = {
  readonly text: string
  readonly sector: Sector | typeof NO_SECTOR | null
  readonly trend: (typeof trends)[number] | null
  readonly crowding: (typeof crowdings)[number] | null
  /** Rows without a volume are below any. */
  readonly volumeUsdMin: number | null
}

/** Reads the parameters of the address; a value that is not offered is none. */
export function readFilters(query: URLSearchParams): ScreenerFilters {
  return {
    text: query.get('coin') ?? '',
    sector: oneOf([...sectors, NO_SECTOR], query.get('sector')),
    trend: oneOf(trends, query.get('trend')),
    crowding: oneOf(crowdings, query.get('crowding')),
    volumeUsdMin: oneOf(volumesUsd, Number(query.get('volume'))),
  }
}

export function filteredRows(
  rows: readonly ScreenerRow[],
  { text, sector, trend, crowding, volumeUsdMin }: ScreenerFilters,
): readonly ScreenerRow[] {
  const wanted = text.trim().toLowerCase()
  return rows.filter(
    (row) =>
      row.coin.toLowerCase().includes(wanted) &&
      (sector === null || (sectorOf(row.coin) ?? NO_SECTOR) === sector) &&
      (trend === null || row.trend === trend) &&
      (crowding === null || row.funding_bias === crowding) &&
      (volumeUsdMin === null || (row.volume_24h_usd ?? 0) >= volumeUsdMin),
  )
}

function oneOf<Value>(offered: readonly Value[], wanted: unknown): Value | null {
  return offered.find((value) => value === wanted) ?? null
}
