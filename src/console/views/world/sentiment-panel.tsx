import type { AnswerInstant } from '../../components/age.tsx'
import { Since } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import type { Tone } from '../../components/figure.tsx'
import { FigureList, figure, toned, toneOf } from '../../components/figure.tsx'
import {
  NOTHING,
  percent,
  plain,
  sharePercent,
  signed,
  signedBps,
  signedPercent,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { pathOfOffer } from '../../wallet/call-path.ts'
import { Band } from './band.tsx'
import { SentimentHistory } from './sentiment-history.tsx'
import { SentimentSectors } from './sentiment-sectors.tsx'

type Sentiment = AnswerOf<'sentiment'>['sentiment']

/** With all figures of every sector. */
const NAME = pathOfOffer({ id: 'sentiment', scope: 'market' }, '')

/** Fear and greed, and what they are made of. */
export function SentimentPanel() {
  return (
    <Panel<AnswerOf<'sentiment'>> title="Sentiment" name={NAME} width="wide">
      {({ sentiment, timestamp_iso }, instant) => (
        <>
          <Overall sentiment={sentiment} />
          <Score sentiment={sentiment} />
          <div class="halves">
            <Components components={sentiment.components} instant={instant} />
            <div>
              <SentimentHistory scores={sentiment.history_3h} atMs={Date.parse(timestamp_iso)} />
              <Distribution sentiment={sentiment} />
              <ExternalIndex index={sentiment.external_index} instant={instant} />
            </div>
          </div>
          <SentimentSectors sentiment={sentiment} />
        </>
      )}
    </Panel>
  )
}

type SentimentProps = { readonly sentiment: Sentiment }

function Overall({ sentiment }: SentimentProps) {
  const { change_24h, return_24h_pct: day, return_7d_pct: week, conflicted, labels } = sentiment
  return (
    <FigureList
      analysis="sentiment"
      rows={[
        figure('Score', 'sentiment.score', plain(sentiment.score, 3)),
        figure('Class', 'sentiment.bucket', word(sentiment.bucket)),
        figure(
          'Change, 24 h',
          'sentiment.change_24h',
          change_24h === null ? NOTHING : signed(change_24h),
          toneOf(change_24h),
        ),
        figure('Confidence', 'sentiment.confidence', plain(sentiment.confidence)),
        figure(
          'Dispersion',
          'sentiment.dispersion',
          plain(sentiment.dispersion, 3),
          conflicted ? 'warn' : 'plain',
        ),
        figure(
          'Sources',
          'sentiment.sources_live',
          `${sentiment.sources_live} of ${sentiment.sources_total}`,
        ),
        figure('Return, 24 h', 'sentiment.return_24h_pct', signedPercent(day), toneOf(day)),
        figure('Return, 7 days', 'sentiment.return_7d_pct', signedPercent(week), toneOf(week)),
        figure('Momentum', 'sentiment.labels.momentum', word(labels.momentum)),
        figure('Funding side', 'sentiment.labels.funding_bias', word(labels.funding_bias)),
        figure('Volatility', 'sentiment.labels.volatility', word(labels.volatility)),
        figure('Breadth', 'sentiment.labels.breadth', word(labels.breadth)),
      ]}
    />
  )
}

/** The stronger the feeling, the stronger the color. */
const scoreParts = [
  { name: 'extreme fear', level: 4 },
  { name: 'fear', level: 2 },
  { name: 'neutral', level: 0 },
  { name: 'greed', level: 2 },
  { name: 'extreme greed', level: 4 },
]
const scoreMarks = [0.2, 0.4, 0.6, 0.8].map((at) => ({ at, text: String(at) }))

function Score({ sentiment: { score, bucket } }: SentimentProps) {
  return (
    <>
      <h3>Score within its classes</h3>
      <Band
        label={`The score is ${plain(score, 3)} of 1: ${word(bucket)}.`}
        parts={scoreParts}
        marks={scoreMarks}
        value={score}
      />
    </>
  )
}

type Component = Sentiment['components'][number]

const raws: Readonly<Record<Component['unit'], (raw: number) => string>> = {
  apr_pct: (raw) => `${signedPercent(raw, 1)} a year`,
  bps: (raw) => signedBps(raw),
  pct: sharePercent,
  balance: (raw) => signed(raw),
  percentile: (raw) => `percentile ${plain(raw, 0)}`,
  buy_share: (raw) => `${percent(100 * raw, 1)} bought`,
  index: (raw) => `${plain(raw, 0)} of 100`,
}

const statusTones: Readonly<Record<Component['status'], Tone>> = {
  live: 'up',
  stale: 'warn',
  missing: 'down',
}

type ComponentsProps = {
  readonly components: readonly Component[]
  readonly instant: AnswerInstant
}

function Components({ components, instant }: ComponentsProps) {
  return (
    <div>
      <h3>Sources</h3>
      <Table
        label="Sources of sentiment"
        look="bars"
        analysis="sentiment"
        columns={[
          { title: 'Score', path: 'sentiment.components[].score', colSpan: 2 },
          { title: 'Measure', path: 'sentiment.components[].raw' },
          { title: 'Weight', path: 'sentiment.components[].weight' },
          { title: 'Age', path: 'sentiment.components[].status' },
        ]}
        rows={components.map(({ name, score, raw, unit, weight, status, as_of }) => ({
          key: name,
          cells: [
            word(name),
            <>
              <span class="visually-hidden">{plain(score)}</span>
              <SignedBar share={score ?? 0} />
            </>,
            raw === null ? NOTHING : raws[unit](raw),
            percent(100 * weight, 0),
            status === 'live' ? (
              <Since key="age" iso={as_of} instant={instant} />
            ) : (
              toned(statusTones[status], status)
            ),
          ],
        }))}
      />
    </div>
  )
}

const distributionTones: readonly Tone[] = ['down', 'warn', 'plain', 'up', 'up']

function Distribution({ sentiment: { distribution, coins_scored } }: SentimentProps) {
  const classes = Object.entries(distribution).map(([name, coins], at) => ({
    ...{ name, coins, tone: distributionTones[at] ?? 'plain' },
  }))
  return (
    <>
      <TermHeading
        title={`${coins_scored} coins by class`}
        analysis="sentiment"
        path="sentiment.distribution"
      />
      <div class="parts" aria-hidden="true">
        {classes.map(({ name, coins, tone }) => (
          <span key={name} class={`fill tone-${tone}`} style={{ flexGrow: coins }} />
        ))}
      </div>
      <ul class="keys">
        {classes.map(({ name, coins, tone }) => (
          <li key={name} class={`tone-${tone}`}>
            <b>{coins}</b> {word(name)}
          </li>
        ))}
      </ul>
    </>
  )
}

type IndexProps = {
  readonly index: Sentiment['external_index']
  readonly instant: AnswerInstant
}

function ExternalIndex({ index, instant }: IndexProps) {
  if (index === null) return null
  return (
    <>
      <TermHeading title={index.name} analysis="sentiment" path="sentiment.external_index" />
      <p class="count">
        <b>{plain(index.value, 0)}</b> of 100, {word(index.label)},{' '}
        <Since iso={index.as_of} instant={instant} /> old.{' '}
        <a href="https://alternative.me/crypto/fear-and-greed-index/">{index.attribution}</a>
      </p>
    </>
  )
}
