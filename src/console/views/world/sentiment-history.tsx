import { NOTHING, plain } from '../../components/format.ts'
import { TermHeading } from '../../components/term.tsx'
import { historyInstants } from './history-hours.ts'

type SentimentHistoryProps = {
  /** The oldest first. */
  readonly scores: readonly (number | null)[]
  /** When the answer was made, not when it was sent, Unix ms. */
  readonly atMs: number
}

const hour = new Intl.DateTimeFormat('en', {
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
})

/** The score every three hours of the last day. */
export function SentimentHistory({ scores, atMs }: SentimentHistoryProps) {
  const instants = historyInstants(atMs, scores.length)
  return (
    <>
      <TermHeading title="Score of the last day" analysis="sentiment" path="sentiment.history_3h" />
      <ol class="history">
        {instants.map((ms, at) => {
          const score = scores[at] ?? null
          return (
            <li key={ms}>
              <b>{score === null ? NOTHING : plain(score)}</b>
              <span class="history-column" aria-hidden="true">
                <span class="fill tone-plain" style={{ height: `${100 * (score ?? 0)}%` }} />
              </span>
              <time dateTime={new Date(ms).toISOString()}>{hour.format(ms)}</time>
            </li>
          )
        })}
      </ol>
    </>
  )
}
