import type { SeriesPicture } from '../../charts/series-plot.ts'
import { clockTime, signedBps } from '../../components/format.ts'
import type { AnswerOf } from '../../live/use-document.ts'

const BPS = 1e4

/** Hourly rates as bars by their sign, on the band of one standard deviation around the mean of 30 days. */
export function fundingBars({ history, windows }: AnswerOf<'funding'>['funding']): SeriesPicture {
  const { average_rate, stdev_rate } = windows['30d']
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
        ...{ name: 'mean + 1 sd, 30 d', tone: 'accent', shape: 'dashed' },
        values: level(average_rate + stdev_rate),
      },
      {
        ...{ name: 'mean − 1 sd', tone: 'accent', shape: 'dashed' },
        values: level(average_rate - stdev_rate),
      },
    ],
    band: [2, 3],
    format: (value) => signedBps(value, 3),
    isFromZero: true,
  }
}
