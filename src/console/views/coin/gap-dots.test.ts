import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { gapDots } from './gap-dots.ts'

const samples = new URL('../../../api/discovery/samples.json', import.meta.url)
const sample = JSON.parse(readFileSync(samples, 'utf8'))['cex-dex'] as Parameters<typeof gapDots>[0]

test('a dot is the distance from the exchange price; what has no price has none', () => {
  const price = sample.cex_price * 1.0005
  const [venue] = sample.exchanges.venues
  if (venue === undefined) throw new Error('the sample has no exchange')
  const venues = [
    { ...venue, mid: price, spread_bps: 3 },
    { ...venue, mid: null },
  ]
  const { books } = gapDots({
    ...sample,
    exchanges: { ...sample.exchanges, venues },
    perp: { ...sample.perp, mid: null },
  })
  expect(books.map(({ name }) => name)).toEqual([
    `${venue.exchange}, ${venue.quote}`,
    'venue oracle',
  ])
  expect(books[0]?.value).toBeCloseTo(5)
  expect(books[0]?.error).toBe(1.5)
})

test('the pool that counts is the used one, at the divergence of the answer', () => {
  const used = gapDots(sample).chains.filter(({ isUsed }) => isUsed)
  expect(used.map(({ name }) => name)).toEqual(['base, aerodrome-slipstream cbBTC'])
  // The answer divides by the pool's price, the plot by that of the exchanges.
  expect(used[0]?.value).toBeCloseTo(-sample.divergence_bps, 1)
})
