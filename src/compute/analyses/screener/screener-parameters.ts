import { Type } from 'typebox'
import type { ViewParameter } from '../../../domain/contract.ts'

export const screenerViews = ['full', 'compact'] as const
export type ScreenerView = (typeof screenerViews)[number]

/** Largest number of rows, so that an answer stays below 20,000 tokens. */
export const rowsMax: Readonly<Record<ScreenerView, number>> = { full: 100, compact: 200 }

const ROWS_DEFAULT = 50

export const viewParameter: ViewParameter = {
  name: 'view',
  description: 'full, or compact: 8 instead of 20 fields per coin.',
  allowed: screenerViews,
  rule: `must be one of ${screenerViews.join(', ')}`,
  example: 'compact',
  problem: 'invalid_parameter',
  defaultValue: 'full',
  valueOf: (raw) => screenerViews.find((view) => view === raw.toLowerCase()),
}

export const topNParameter: ViewParameter = {
  name: 'top_n',
  description: `Number of coins, 1 to ${rowsMax.full}, with view=compact to ${rowsMax.compact}. Default ${ROWS_DEFAULT}.`,
  allowed: screenerViews.map((view) => `1..${rowsMax[view]} with view=${view}`),
  rule: `must be a whole number from 1 to ${rowsMax.full}, with view=compact to ${rowsMax.compact}`,
  example: '20',
  schema: Type.Integer({ minimum: 1, maximum: rowsMax.compact }),
  problem: 'invalid_parameter',
  defaultValue: String(ROWS_DEFAULT),
  valueOf: (raw, [view]) => {
    const limit = rowsMax[view as ScreenerView]
    return /^[1-9]\d*$/.test(raw) && Number(raw) <= limit ? raw : undefined
  },
}

/** View key of these parameters. */
export function screenerViewKey(view: ScreenerView, rows: number): string {
  return `${view},${rows}`
}

/** Every ranked coin with all fields. */
export const wholeScreenerView = 'full,all'

export const defaultScreenerView = screenerViewKey('full', ROWS_DEFAULT)
