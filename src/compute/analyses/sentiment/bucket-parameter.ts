import type { ViewParameter } from '../../../domain/contract.ts'
import { coinBuckets } from '../../../domain/sectors.ts'

/** Only the scores of the sectors, all about all of them, or all about one. */
export const bucketViews = ['scores', 'all', ...coinBuckets] as const
export type BucketView = (typeof bucketViews)[number]

export const defaultBucketView = 'scores' satisfies BucketView

const viewByName: ReadonlyMap<string, BucketView> = new Map(
  bucketViews.map((view) => [view.toLowerCase(), view]),
)

export const bucketParameter: ViewParameter = {
  name: 'bucket',
  description:
    'What to tell of the sectors: scores (default), all for every figure of each of them, or the name of one, in any case.',
  allowed: bucketViews,
  rule: `must be one of ${bucketViews.join(', ')}`,
  example: 'all',
  problem: 'invalid_parameter',
  defaultValue: defaultBucketView,
  valueOf: (raw) => viewByName.get(raw.trim().toLowerCase()),
}
