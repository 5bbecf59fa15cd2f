import type { SeriesPicture } from '../../charts/series-plot.ts'
import { clockTime, signedBps } from '../../components/format.ts'
import type { AnswerOf } from '../../live/use-document.ts'

const BPS = 1e4

/** Hourly rates as bars by their sign, on the band between the 10th and the 90th percentile of 30 days. */
export function fundingBars({ history, windows }: AnswerOf<'funding'>['funding']): SeriesPicture {
  const { p10_rate, p90_rate } = windows['30d']
  const level = (rate: number) => history.map(() => BPS * rate)
  const bars = (isShown: (rate: number) => boolean) =>
    history.map(({ rate }) => (isShown(rate) ? BPS * rate : null))
  return {
    x: {
      name: 'Hour',
      kind: 'time',
      values: history.map(({ timestamp_iso }) => Date.parse(timestamp_iso)),
      format: clockTime,
    },
    columns: [
      { name: 'longs pay', tone: 'up', shape: 'bars', values: bars((rate) => rate >= 0) },
      { name: 'shorts pay', tone: 'down', shape: 'bars', values: bars((rate) => rate < 0) },
      {
        ...{ name: '90th percentile, 30 d', tone: 'accent', shape: 'dashed' },
        values: level(p90_rate),
      },
      {
        ...{ name: '10th percentile', tone: 'accent', shape: 'dashed' },
        values: level(p10_rate),
      },
    ],
    band: [2, 3],
    format: (value) => signedBps(value, 3),
    isFromZero: true,
  }
}
