import { Type } from 'typebox'
import { fearGreedClasses } from '../../../domain/fear-greed.ts'
import { coinBuckets } from '../../../domain/sectors.ts'
import { fundingBiases } from '../../funding/funding-tilt.ts'
import {
  count,
  flag,
  fraction,
  Iso,
  metaMembers,
  nonNegative,
  nullable,
  number,
  oneOf,
  percentage,
  signedFraction,
} from '../../render/answer-schema.ts'
import { volatilityRegimes } from '../../volatility/volatility-regime.ts'
import { breadths, directions, scoreBuckets } from './sentiment-labels.ts'
import { sentimentSources, sentimentStatuses } from './sentiment-score.ts'

const Score = fraction('Sentiment, 0 fear to 1 greed.')
const Bucket = oneOf(
  scoreBuckets,
  'By score: below 0.2 EXTREME_FEAR, below 0.4 FEAR, up to 0.6 NEUTRAL, up to 0.8 GREED, above EXTREME_GREED.',
)
const ReturnPct = (hours: string) =>
  nullable(number(`OI-weighted mean return over ${hours}, percent; null if unknown.`))

const ComponentAnswer = Type.Object({
  name: oneOf(sentimentSources),
  score: nullable(signedFraction('-1 fear to 1 greed; null if missing.')),
  weight: fraction('Weight in score: reduced if stale, 0 if missing.'),
  raw: nullable(
    number(
      'Raw measure in `unit`: OI-weighted annualised funding (apr_pct), OI-weighted premium of mark over oracle (bps), breadth (pct), direction of the 4-hour price move, 1 or -1, weighted by the change of open interest (balance), volatility percentile 0 to 100, taker buy share as a fraction, index 0 to 100. null if missing.',
    ),
  ),
  unit: oneOf(['apr_pct', 'bps', 'pct', 'balance', 'percentile', 'buy_share', 'index']),
  status: oneOf(
    sentimentStatuses,
    'stale: the index is over 24 h old. missing: insufficient data.',
  ),
  as_of: nullable(Iso),
})

const SectorAnswer = Type.Object({
  sector: oneOf(coinBuckets),
  score: nullable(Score),
  bucket: nullable(Bucket),
  coins: Type.Integer({ minimum: 1, description: 'Number of listed coins.' }),
  oi_usd: nullable(
    nonNegative(
      'Open interest of its coins with fresh data at the mark price, USD; null without any, or if the collateral of one has no USD price.',
    ),
  ),
  funding_apr_pct: nullable(
    number('OI-weighted mean funding rate of the last 8 h, percent per year; null if unknown.'),
  ),
  breadth_pct: nullable(
    percentage('raw of the component breadth for this sector, percent; null if missing.'),
  ),
  return_24h_pct: ReturnPct('24 h'),
  leaders: Type.Array(Type.String(), { maxItems: 2, description: 'Highest 24 h return first.' }),
  laggards: Type.Array(Type.String(), { maxItems: 2, description: 'Lowest 24 h return first.' }),
})

const Count = count('Number of coins.')

export const SentimentAnswer = Type.Object({
  timestamp_iso: Iso,
  sentiment: Type.Object({
    overall: oneOf(directions, 'By score: above 0.6 bullish, below 0.4 bearish, else neutral.'),
    bucket: Bucket,
    score: fraction(
      '(Weighted mean of the unrounded component scores + 1) / 2, 0 fear to 1 greed. Crowded longs count as greed.',
    ),
    confidence: fraction('Total weight of the components x (1 - dispersion).'),
    dispersion: fraction('Weighted standard deviation of the unrounded component scores.'),
    conflicted: flag('dispersion is above 0.5: the components contradict each other.'),
    labels: Type.Object({
      fear_greed: Bucket,
      momentum: nullable(oneOf(directions, 'By return_7d_pct: bullish above 2, bearish below -2.')),
      funding_bias: nullable(
        oneOf(
          fundingBiases,
          'As in /funding, by the OI-weighted mean rate of the last 8 h on the main dex.',
        ),
      ),
      volatility: nullable(
        oneOf(
          volatilityRegimes,
          'By the OI-weighted percentile of 24 h volatility: LOW below 20, HIGH from 80, EXTREME from 95.',
        ),
      ),
      breadth: nullable(oneOf(breadths, 'By breadth: above 60 STRONG, below 40 WEAK, else MIXED.')),
    }),
    components: Type.Array(ComponentAnswer, { minItems: 7, maxItems: 7 }),
    sources_live: Type.Integer({
      minimum: 0,
      maximum: 7,
      description: 'Number of components that are not missing.',
    }),
    sources_total: Type.Integer({ minimum: 7, maximum: 7, description: 'Number of components.' }),
    change_24h: nullable(
      signedFraction('Change of score over 24 h; null without a recorded score from then.'),
    ),
    return_24h_pct: ReturnPct('24 h'),
    return_7d_pct: ReturnPct('7 days'),
    sector_scores: Type.Record(Type.String(), nullable(Score), {
      description:
        'score by sector, without the index, 0 fear to 1 greed; null for a sector with one coin or insufficient data.',
    }),
    sectors: Type.Optional(
      Type.Array(SectorAnswer, {
        description: 'Present with the parameter bucket: all sectors, or the named one.',
      }),
    ),
    distribution: Type.Unsafe<Record<(typeof scoreBuckets)[number], number>>(
      Type.Record(oneOf(scoreBuckets), Count, {
        description: 'Number of coins by the bucket of their own score.',
      }),
    ),
    coins_scored: count('Number of coins with an own score.'),
    coins_total: count('Number of listed coins.'),
    history_3h: Type.Array(nullable(Score), {
      minItems: 8,
      maxItems: 8,
      description:
        'score at 00, 03, 06, ... UTC, the last eight, oldest first, 0 to 1; null without a record.',
    }),
    external_index: nullable(
      Type.Object(
        {
          name: Type.Literal('Crypto Fear & Greed Index'),
          value: percentage('0 fear to 100 greed.'),
          label: oneOf(
            fearGreedClasses,
            'Class of the index by its own limits (25, 46, 54, 75), which differ from bucket.',
          ),
          as_of: Iso,
          attribution: Type.Literal('Source: alternative.me'),
        },
        { description: 'Latest daily index of alternative.me; null if unknown.' },
      ),
    ),
  }),
  meta: Type.Object({ ...metaMembers, offering: Type.Literal('service_sentiment') }),
})
