/**
 * Sums over the claims of whole days, the block of every statistic: claims of one day depend on each other, so a day is
 * drawn or left out as a whole. Blocks add up.
 */
export type Block = Float64Array

/** Position of each sum in a {@link Block}. */
export const blockField = {
  /** First day since the Unix epoch, and number of days; of a merged block only {@link scored} ones count. */
  day: 0,
  days: 1,
  /** Observed, void and abstained claims. */
  observed: 2,
  voids: 3,
  abstained: 4,
  /** Claims behind the sums below. */
  weight: 5,
  /** Sums of the members of a `ClaimScore`; for rank claims the day's correlations times its claims. */
  own: 6,
  control: 7,
  loss: 8,
  controlLoss: 9,
  inside50: 10,
  inside80: 11,
  inside95: 12,
} as const

export type BlockField = keyof typeof blockField

const BLOCK_FIELDS = Object.keys(blockField).length
export const DAY_MS = 86_400_000

/** Days that stay single; older ones are merged by 7, and after a quarter by 28. */
const SINGLE_DAYS = 35
const WEEKLY_DAYS = 119

export function newBlock(day: number): Block {
  const block = new Float64Array(BLOCK_FIELDS)
  block[blockField.day] = day
  block[blockField.days] = 1
  return block
}

export function fieldOf(block: Block, field: BlockField): number {
  return block[blockField[field]] as number
}

/** Blocks with claims behind their sums: days of void claims alone, or without any, say nothing. */
export function scored(blocks: readonly Block[]): readonly Block[] {
  return blocks.filter((block) => fieldOf(block, 'weight') > 0)
}

export function sumOf(blocks: readonly Block[], field: BlockField): number {
  return blocks.reduce((sum, block) => sum + fieldOf(block, field), 0)
}

/**
 * Bounds the number of blocks: about 35 single days, 12 weeks and 13 blocks a year. A larger block keeps more dependence
 * inside, so intervals from it are not too narrow.
 * @param blocks ascending by day
 */
export function compacted(blocks: readonly Block[], newestDay: number): readonly Block[] {
  const kept: Block[] = []
  for (const block of blocks) {
    const newest = kept.at(-1)
    const span = spanOf(newestDay - fieldOf(block, 'day'))
    if (newest !== undefined && span > 1 && periodOf(newest, span) === periodOf(block, span))
      kept[kept.length - 1] = merged(newest, block)
    else kept.push(block)
  }
  return kept
}

function spanOf(ageDays: number): number {
  if (ageDays <= SINGLE_DAYS) return 1
  return ageDays <= WEEKLY_DAYS ? 7 : 28
}

function periodOf(block: Block, span: number): number {
  return Math.floor(fieldOf(block, 'day') / span)
}

/** @param one the earlier */
function merged(one: Block, other: Block): Block {
  const sum = one.map((value, at) => value + (other[at] as number))
  sum[blockField.day] = fieldOf(one, 'day')
  sum[blockField.days] = sumOf(scored([one, other]), 'days')
  return sum
}

/** Blocks of the numbers of all of them. */
export function splitBlocks(joined: Float64Array): readonly Block[] {
  return splitRows(joined, BLOCK_FIELDS)
}

/** Copies, so that they can be changed. */
export function splitRows(joined: Float64Array, width: number): readonly Float64Array[] {
  return Array.from({ length: Math.floor(joined.length / width) }, (_, row) =>
    joined.slice(row * width, (row + 1) * width),
  )
}
