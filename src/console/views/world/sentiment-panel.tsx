import type { AnswerInstant } from '../../components/age.tsx'
import { Since } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import type { Tone } from '../../components/figure.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import {
  NOTHING,
  percent,
  plain,
  signed,
  signedBps,
  signedPercent,
  word,
} from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { Term } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { Band } from './band.tsx'
import { SentimentHistory } from './sentiment-history.tsx'
import { SentimentSectors } from './sentiment-sectors.tsx'

type Sentiment = AnswerOf<'sentiment'>['sentiment']

/** With all figures of every sector. */
const NAME = '/sentiment?bucket=all'

/** Fear and greed, and what they are made of. */
export function SentimentPanel() {
  const state = useDocument<AnswerOf<'sentiment'>>(NAME)
  return (
    <Panel title="Sentiment" name={NAME} state={state} width="wide">
      {({ sentiment }, instant) => (
        <>
          <Overall sentiment={sentiment} />
          <Score sentiment={sentiment} />
          <div class="halves">
            <Components components={sentiment.components} instant={instant} />
            <div>
              <SentimentHistory scores={sentiment.history_3h} atMs={instant.atMs} />
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
  const { labels } = sentiment
  return (
    <Figures>
      <Figure analysis="sentiment" path="sentiment.score" label="Score">
        {plain(sentiment.score, 3)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.bucket" label="Class">
        {word(sentiment.bucket)}
      </Figure>
      <Figure
        analysis="sentiment"
        path="sentiment.change_24h"
        label="Change, 24 h"
        tone={toneOf(sentiment.change_24h)}
      >
        {sentiment.change_24h === null ? NOTHING : signed(sentiment.change_24h)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.confidence" label="Confidence">
        {plain(sentiment.confidence)}
      </Figure>
      <Figure
        analysis="sentiment"
        path="sentiment.dispersion"
        label="Dispersion"
        tone={sentiment.conflicted ? 'warn' : 'plain'}
      >
        {plain(sentiment.dispersion, 3)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.sources_live" label="Sources">
        {sentiment.sources_live} of {sentiment.sources_total}
      </Figure>
      <Figure
        analysis="sentiment"
        path="sentiment.return_24h_pct"
        label="Return, 24 h"
        tone={toneOf(sentiment.return_24h_pct)}
      >
        {signedPercent(sentiment.return_24h_pct)}
      </Figure>
      <Figure
        analysis="sentiment"
        path="sentiment.return_7d_pct"
        label="Return, 7 days"
        tone={toneOf(sentiment.return_7d_pct)}
      >
        {signedPercent(sentiment.return_7d_pct)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.labels.momentum" label="Momentum">
        {word(labels.momentum)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.labels.funding_bias" label="Funding side">
        {word(labels.funding_bias)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.labels.volatility" label="Volatility">
        {word(labels.volatility)}
      </Figure>
      <Figure analysis="sentiment" path="sentiment.labels.breadth" label="Breadth">
        {word(labels.breadth)}
      </Figure>
    </Figures>
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
  pct: (raw) => percent(raw, 0),
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
      <ScrollRegion label="Sources of sentiment">
        <table class="bars">
          <thead>
            <tr>
              <th scope="col" colSpan={2}>
                <Term analysis="sentiment" path="sentiment.components[].score">
                  Score
                </Term>
              </th>
              <th scope="col">
                <Term analysis="sentiment" path="sentiment.components[].raw">
                  Measure
                </Term>
              </th>
              <th scope="col">
                <Term analysis="sentiment" path="sentiment.components[].weight">
                  Weight
                </Term>
              </th>
              <th scope="col">
                <Term analysis="sentiment" path="sentiment.components[].status">
                  Age
                </Term>
              </th>
            </tr>
          </thead>
          <tbody>
            {components.map(({ name, score, raw, unit, weight, status, as_of }) => (
              <tr key={name}>
                <th scope="row">{word(name)}</th>
                <td>
                  <span class="visually-hidden">{plain(score)}</span>
                  <SignedBar share={score ?? 0} />
                </td>
                <td>{raw === null ? NOTHING : raws[unit](raw)}</td>
                <td>{percent(100 * weight, 0)}</td>
                <td>
                  {status === 'live' ? (
                    <Since iso={as_of} instant={instant} />
                  ) : (
                    <span class={`tone-${statusTones[status]}`}>{status}</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
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
      <h3>
        <Term analysis="sentiment" path="sentiment.distribution">
          {coins_scored} coins by class
        </Term>
      </h3>
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
      <h3>
        <Term analysis="sentiment" path="sentiment.external_index">
          {index.name}
        </Term>
      </h3>
      <p class="count">
        <b>{plain(index.value, 0)}</b> of 100, {word(index.label)},{' '}
        <Since iso={index.as_of} instant={instant} /> old.{' '}
        <a href="https://alternative.me/crypto/fear-and-greed-index/">{index.attribution}</a>
      </p>
    </>
  )
}
