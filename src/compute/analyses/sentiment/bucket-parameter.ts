import type { ViewParameter } from '../../../domain/contract.ts'
import { coinBuckets } from '../../../domain/sectors.ts'

/** `scores`: sector scores only. `all`, or a sector: all its figures as well. */
export const bucketViews = ['scores', 'all', ...coinBuckets] as const
export type BucketView = (typeof bucketViews)[number]

export const defaultBucketView = 'scores' satisfies BucketView

const viewByName: ReadonlyMap<string, BucketView> = new Map(
  bucketViews.map((view) => [view.toLowerCase(), view]),
)

export const bucketParameter: ViewParameter = {
  name: 'bucket',
  description: 'Sector detail: scores (default), all, or one sector name, in any case.',
  allowed: bucketViews,
  rule: `must be one of ${bucketViews.join(', ')}`,
  example: 'all',
  problem: 'invalid_parameter',
  defaultValue: defaultBucketView,
  valueOf: (raw) => viewByName.get(raw.trim().toLowerCase()),
}
