import { expect, test } from 'vitest'
import { fundingRows, hoursFrom } from './funding-rows.ts'

const coin = (name: string, funding_bps: (number | null)[]) => ({
  ...{ coin: name, funding_bps, closes: [] },
})

test('the largest absolute mean is first, unknown hours are in no mean', () => {
  const rows = fundingRows({
    coins: [
      coin('flat', [0.1, 0.1, 0.1]),
      coin('short', [-3, null, -1]),
      coin('none', [null, null, null]),
      coin('swinging', [9, -9, 0.3]),
    ],
  })
  expect(rows.map(({ coin }) => coin)).toEqual(['short', 'flat', 'swinging'])
  expect(rows.map(({ meanBps }) => meanBps)).toEqual([-2, expect.closeTo(0.1), expect.closeTo(0.1)])
})

test('hours follow each other', () => {
  expect(hoursFrom(7_200_000, 3)).toEqual([7_200_000, 10_800_000, 14_400_000])
})
