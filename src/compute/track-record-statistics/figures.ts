import type { Statement } from '../../domain/track-record.ts'
import type { Block } from './blocks.ts'
import { fieldOf, scored, sumOf } from './blocks.ts'
import { seededRandom } from './seeded-random.ts'
import { wilsonInterval } from './wilson.ts'

export type Form = Statement['form']

/** RecordFigures of a cell over a window. NaN where a figure does not exist. */
export type RecordFigures = {
  readonly observed: number
  readonly voids: number
  readonly abstained: number
  readonly days: number
  /** Independent observations that vary as much as the days did. */
  readonly effective: number
  /** Events: share that happened. Quantiles: share inside the central 80 % interval. Ranks: mean rank correlation. */
  readonly rate: number
  readonly rateLow: number
  readonly rateHigh: number
  /** The same of the control; NaN for quantiles. */
  readonly controlRate: number
  /** Above 1 if better than the control; see {@link liftOf}. */
  readonly lift: number
  readonly liftLow: number
  readonly liftHigh: number
  /** Mean Brier or pinball loss; NaN for ranks. */
  readonly loss: number
  readonly controlLoss: number
  /** 1 is perfect, 0 equals the control; see {@link skillOf}. */
  readonly skill: number
  /** Share of values inside the central intervals of 50, 80 and 95 %; NaN for other forms. */
  readonly coverage: readonly [number, number, number]
}

const RESAMPLES = 1_000
const SEED = 41
/** With fewer blocks the variance of their means is unknown: the days themselves count. */
const BLOCKS_MIN = 10
/** Error of a sum of correlations. */
const ROUNDING = 1e-9

export function figuresOf(form: Form, blocks: readonly Block[]): RecordFigures {
  const [weight, own] = [sumOf(blocks, 'weight'), sumOf(blocks, 'own')]
  const [control, loss] = [sumOf(blocks, 'control'), sumOf(blocks, 'loss')]
  const hits = form === 'quantiles' ? sumOf(blocks, 'inside80') : own
  const rate = hits / weight
  const effective = effectiveCount(form, blocks)
  const [rateLow, rateHigh] =
    form === 'rank' ? fisherInterval(rate, effective) : wilsonInterval(rate, effective)
  const [liftLow, liftHigh] = liftInterval(form, blocks)
  const controlLoss = controlLossOf(blocks)
  const coverage = (field: 'inside50' | 'inside80' | 'inside95') =>
    form === 'quantiles' ? sumOf(blocks, field) / weight : Number.NaN
  return {
    observed: sumOf(blocks, 'observed'),
    voids: sumOf(blocks, 'voids'),
    abstained: sumOf(blocks, 'abstained'),
    days: sumOf(scored(blocks), 'days'),
    ...{ effective, rate, rateLow, rateHigh },
    controlRate: form === 'quantiles' ? Number.NaN : control / weight,
    ...{ lift: liftOf(form, { weight, own, control }), liftLow, liftHigh },
    loss: form === 'rank' ? Number.NaN : loss / weight,
    controlLoss: form === 'rank' ? Number.NaN : controlLoss / weight,
    skill: skillOf(form, { weight, own, control, loss, controlLoss }),
    coverage: [coverage('inside50'), coverage('inside80'), coverage('inside95')],
  }
}

type Sums = { readonly weight: number; readonly own: number; readonly control: number }

/** Events: rate over that of the control. Quantiles: loss of the control over the loss. Ranks: (1 + r) over that of the control. */
function liftOf(form: Form, { weight, own, control }: Sums): number {
  const lift =
    form === 'event'
      ? own / control
      : form === 'quantiles'
        ? control / own
        : (weight + own) / (weight + control)
  return Number.isFinite(lift) ? lift : Number.NaN
}

/** Share of the control's loss that the rule avoids; ranks: share of the way from the control to a perfect order. */
function skillOf(
  form: Form,
  {
    weight,
    own,
    control,
    loss,
    controlLoss,
  }: Sums & { readonly loss: number; readonly controlLoss: number },
): number {
  const skill = form === 'rank' ? (own - control) / (weight - control) : 1 - loss / controlLoss
  return Number.isFinite(skill) ? skill : Number.NaN
}

/** Where the control is an event of its own, it states the rate of that event over these blocks. */
function controlLossOf(blocks: readonly Block[]): number {
  const stated = sumOf(blocks, 'controlLoss')
  if (!Number.isNaN(stated)) return stated
  const [weight, own] = [sumOf(blocks, 'weight'), sumOf(blocks, 'own')]
  return constantLoss(sumOf(blocks, 'control') / weight, own, weight)
}

/** Brier loss of one probability for `count` events of which `hits` happened. */
export function constantLoss(probability: number, hits: number, count: number): number {
  return count * probability * probability - 2 * probability * hits + hits
}

/**
 * n / design effect (L. Kish, 1965): the variance of a ratio over whole blocks, with what one day passes to the next,
 * against the variance of independent claims. Never above n. The number of days where the variance is unknown: below
 * {@link BLOCKS_MIN}, and while all claims came out alike.
 */
export function effectiveCount(form: Form, blocks: readonly Block[]): number {
  const used = scored(blocks)
  const weight = sumOf(used, 'weight')
  const field = form === 'quantiles' ? 'inside80' : 'own'
  const rate = sumOf(used, field) / weight
  const isAlike = Math.abs(rate) > 1 - ROUNDING || (form !== 'rank' && rate === 0)
  if (used.length < BLOCKS_MIN || isAlike) return Math.min(weight, sumOf(used, 'days'))
  const residuals = used.map((block) => fieldOf(block, field) - rate * fieldOf(block, 'weight'))
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0)
  const variance =
    ((used.length / (used.length - 1)) * squares * dependenceOf(residuals)) / weight ** 2
  const single = form === 'rank' ? 1 : rate * (1 - rate)
  return Math.min(weight, single / variance)
}

/** Variance of a sum over that of independent blocks: with the covariance of each block and the next, if positive. */
function dependenceOf(residuals: readonly number[]): number {
  let [squares, products] = [0, 0]
  for (const [at, residual] of residuals.entries()) {
    squares += residual ** 2
    products += at === 0 ? 0 : residual * (residuals[at - 1] as number)
  }
  return products > 0 ? 1 + (2 * products) / squares : 1
}

/** 95 % interval of a correlation by Fisher's z. */
function fisherInterval(correlation: number, count: number): readonly [number, number] {
  const half = 1.96 / Math.sqrt(Math.max(1, count - 3))
  const z = Math.atanh(correlation)
  return [Math.tanh(z - half), Math.tanh(z + half)]
}

/**
 * Percentile interval of 95 %: whole blocks are drawn with replacement, 1,000 times from a fixed seed. Its ends are then
 * moved away from the lift by the root of {@link dependenceOf}, because claims of 24 h share the time of their outcome
 * with claims of the next day. (Runs of two or three blocks instead cover less in 35 to 150 days.)
 */
function liftInterval(form: Form, all: readonly Block[]): readonly [number, number] {
  const blocks = scored(all)
  if (blocks.length < 2) return [Number.NaN, Number.NaN]
  const fields = Float64Array.from(
    blocks.flatMap((block) => [
      fieldOf(block, 'weight'),
      fieldOf(block, 'own'),
      fieldOf(block, 'control'),
    ]),
  )
  const random = seededRandom(SEED)
  const lifts = new Float64Array(RESAMPLES)
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    let [weight, own, control] = [0, 0, 0]
    for (let drawn = 0; drawn < blocks.length; drawn += 1) {
      const at = 3 * Math.floor(random() * blocks.length)
      weight += fields[at] as number
      own += fields[at + 1] as number
      control += fields[at + 2] as number
    }
    lifts[resample] = liftOf(form, { weight, own, control })
  }
  // NaN sorts to the end: a draw without any event of the control says nothing.
  const known = lifts.filter((lift) => !Number.isNaN(lift)).sort()
  const sums = { weight: sumOf(blocks, 'weight'), own: sumOf(blocks, 'own') }
  const lift = liftOf(form, { ...sums, control: sumOf(blocks, 'control') })
  const wider = Math.sqrt(dependenceOf(blocks.map((block) => liftResidual(form, block, lift))))
  const moved = (end: number) => Math.max(0, lift + wider * (end - lift))
  return [moved(quantile(known, 0.025)), moved(quantile(known, 0.975))]
}

/** Numerator of the lift less what the lift of all blocks expects of this one. */
function liftResidual(form: Form, block: Block, lift: number): number {
  const [own, control] = [fieldOf(block, 'own'), fieldOf(block, 'control')]
  if (form === 'event') return own - lift * control
  if (form === 'quantiles') return control - lift * own
  const weight = fieldOf(block, 'weight')
  return weight + own - lift * (weight + control)
}

/** Linear between order statistics (type 7 of Hyndman and Fan, 1996); NaN for none. */
function quantile(ascending: Float64Array, level: number): number {
  const place = (ascending.length - 1) * level
  const [low, high] = [ascending[Math.floor(place)], ascending[Math.ceil(place)]]
  if (low === undefined || high === undefined) return Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}
