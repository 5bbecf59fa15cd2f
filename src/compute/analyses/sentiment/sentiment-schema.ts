import { Type } from 'typebox'
import { fearGreedClasses } from '../../../domain/fear-greed.ts'
import { coinBuckets } from '../../../domain/sectors.ts'
import { fundingBiases } from '../../funding/funding-tilt.ts'
import { metaMembers, nullable, oneOf } from '../../render/answer-schema.ts'
import { volatilityRegimes } from '../../volatility/volatility-regime.ts'
import { sentimentSources, sentimentStatuses } from './sentiment-score.ts'
import { breadths, directions, scoreBuckets } from './sentiment-words.ts'

const Iso = Type.String({ format: 'date-time', description: 'UTC, ISO 8601.' })
const Score = Type.Number({ minimum: 0, maximum: 1, description: '0 fear to 1 greed.' })
const Bucket = oneOf(scoreBuckets, 'By score: below 0.2, below 0.4, up to 0.6, up to 0.8, above.')
const ReturnPct = (hours: string) =>
  nullable(Type.Number({ description: `Of the marks over ${hours}, OI-weighted, percent.` }))

const ComponentAnswer = Type.Object({
  name: oneOf(sentimentSources),
  score: nullable(
    Type.Number({ minimum: -1, maximum: 1, description: '-1 fear to 1 greed; null when missing.' }),
  ),
  weight: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'What the mean is weighted by: less while stale, 0 when missing.',
  }),
  raw: nullable(
    Type.Number({
      description:
        'What it is made of; unit says in what: OI-weighted funding a year, OI-weighted mark over oracle, breadth, balance -1 to 1 of price and open interest, rank of volatility 0 to 100, share of buys, the index 0 to 100.',
    }),
  ),
  unit: oneOf(['apr_pct', 'bps', 'pct', 'balance', 'percentile', 'buy_share', 'index']),
  status: oneOf(sentimentStatuses, 'stale: the index is over a day old and weighs less for it.'),
  as_of: nullable(Iso),
})

const SectorAnswer = Type.Object({
  sector: oneOf(coinBuckets),
  score: nullable(Score),
  bucket: nullable(Bucket),
  coins: Type.Integer({ minimum: 1, description: 'Number of coins that trade.' }),
  oi_usd: nullable(
    Type.Number({
      minimum: 0,
      description:
        'Open interest at the mark, USD. null where the collateral of a coin in it has no price in USD.',
    }),
  ),
  funding_apr_pct: nullable(
    Type.Number({ description: 'Mean of 8 hours as of a year, OI-weighted, percent.' }),
  ),
  breadth_pct: nullable(
    Type.Number({ minimum: 0, maximum: 100, description: 'As the component breadth, percent.' }),
  ),
  return_24h_pct: ReturnPct('24 h'),
  leaders: Type.Array(Type.String(), { maxItems: 2, description: 'Rose most in 24 h.' }),
  laggards: Type.Array(Type.String(), { maxItems: 2, description: 'Rose least in 24 h.' }),
})

const Count = Type.Integer({ minimum: 0, description: 'Number of coins.' })

export const SentimentAnswer = Type.Object({
  timestamp_iso: Iso,
  sentiment: Type.Object({
    overall: oneOf(directions, 'By score: above 0.6, 0.4 to 0.6, below 0.4.'),
    bucket: Bucket,
    score: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        '(Mean of the component scores by weight + 1) / 2, 0 fear to 1 greed. Crowded positioning counts as greed.',
    }),
    confidence: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Weight of the live components x (1 - dispersion).',
    }),
    dispersion: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Weighted standard deviation of the component scores of -1 to 1.',
    }),
    conflicted: Type.Boolean({
      description: 'dispersion above 0.5: a mean of opposites, not a neutral market.',
    }),
    labels: Type.Object({
      fear_greed: Bucket,
      momentum: nullable(oneOf(directions, 'Of return_7d_pct: beyond 2 % either way.')),
      funding_bias: nullable(oneOf(fundingBiases, 'Of the OI-weighted mean of 8 hours.')),
      volatility: nullable(
        oneOf(volatilityRegimes, 'Of the rank: HIGH from 80, EXTREME from 95, LOW below 20.'),
      ),
      breadth: nullable(oneOf(breadths, 'Above 60 % of breadth, below 40 %, or between.')),
    }),
    components: Type.Array(ComponentAnswer, { minItems: 7, maxItems: 7 }),
    sources_live: Type.Integer({ minimum: 0, maximum: 7, description: 'Number of components.' }),
    sources_total: Type.Integer({ minimum: 7, maximum: 7, description: 'Number of components.' }),
    change_24h: nullable(
      Type.Number({
        minimum: -1,
        maximum: 1,
        description: 'Of score, against our own value of 24 h ago; null without one.',
      }),
    ),
    return_24h_pct: ReturnPct('24 h'),
    return_7d_pct: ReturnPct('7 days'),
    sector_scores: Type.Record(Type.String(), nullable(Score), {
      description:
        'The same measured of the coins of a sector, without the index, of those with a coin: 0 fear to 1 greed; null for a single coin.',
    }),
    sectors: Type.Optional(
      Type.Array(SectorAnswer, {
        description: 'With bucket=all, or of the one that bucket names.',
      }),
    ),
    distribution: Type.Unsafe<Record<(typeof scoreBuckets)[number], number>>(
      Type.Record(oneOf(scoreBuckets), Count, {
        description: 'Number of coins by the bucket of their own score.',
      }),
    ),
    coins_scored: Count,
    coins_total: Count,
    history_3h: Type.Array(nullable(Score), {
      minItems: 8,
      maxItems: 8,
      description:
        'score at the last eight whole three hours UTC, oldest first, 0 to 1; null where we did not measure.',
    }),
    external_index: nullable(
      Type.Object(
        {
          name: Type.Literal('Crypto Fear & Greed Index'),
          value: Type.Number({ minimum: 0, maximum: 100, description: '0 to 100.' }),
          label: oneOf(
            fearGreedClasses,
            'In its own classes: up to 25, 46, 54, 75 and above, whose limits are not those of bucket.',
          ),
          as_of: Iso,
          attribution: Type.Literal('Source: alternative.me'),
        },
        { description: 'The daily index of alternative.me as it stands; null while unknown.' },
      ),
    ),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_sentiment') }),
})
