import { expect, test } from 'vitest'
import { play } from './testing/feed-run.ts'
import { ScriptedVenue } from './testing/scripted-venue.ts'
import { venueChannel, venueChannels } from './wire/channels.ts'
import { coin, optionalField, pastTime, priceField } from './wire/field-types.ts'

/** The recipe "Add a channel of the venue" of CONTRIBUTING, with a channel that the product does not have. */
const midPrices = venueChannel('midPrice', {
  subscribedFor: 'every coin',
  parameters: { precision: 'full' },
  fields: { coin, time: pastTime, mark: priceField, mid: optionalField(priceField) },
  eventOf: (row, at, name, timeReceivedMs) => {
    const markPrice = row.number(at.mark)
    const midPrice = row.numberOrNull(at.mid)
    if (midPrice !== null && midPrice > 2 * markPrice) return 'bad_price'
    const timeExchangeMs = row.number(at.time)
    return { kind: 'mark', coin: name, timeExchangeMs, timeReceivedMs, markPrice, midPrice }
  },
})

function feedWithChannel() {
  const venue = new ScriptedVenue({ coins: ['BTC', 'ETH'] })
  const run = play(venue, { channels: [...venueChannels, midPrices] })
  run.advance(5_000)
  const send = (data: unknown) => {
    venue.sockets[0]?.send({ channel: 'midPrice', data })
    run.advance(1)
  }
  const marks = () => run.of('mark').filter(({ markPrice }) => markPrice === 101)
  return { venue, run, send, marks }
}

test('a described channel is subscribed for its coins, with its parameters', () => {
  const { venue } = feedWithChannel()
  expect(venue.subscribed('midPrice').toSorted()).toEqual(['BTC', 'ETH'])
  const subscription = { type: 'midPrice', coin: 'BTC', precision: 'full' }
  expect(venue.sockets[0]?.heard.map(({ text }) => JSON.parse(text))).toContainEqual({
    method: 'subscribe',
    subscription,
  })
})

test.each([
  ['in the described order', (time: number) => ({ coin: 'BTC', time, mark: '101', mid: '100' })],
  ['in another order', (time: number) => ({ mid: '100', time, mark: '101', coin: 'BTC' })],
  [
    'with further members',
    (time: number) => ({ coin: 'BTC', time, n: 1, mark: '101', mid: '100' }),
  ],
])('its frames are decoded and delivered: %s', (_, dataAt) => {
  const { venue, send, marks } = feedWithChannel()
  send(dataAt(venue.nowMs - 10))
  expect(marks()).toMatchObject([{ coin: 'BTC', markPrice: 101, midPrice: 100 }])
})

test('an optional figure may be null', () => {
  const { venue, send, marks } = feedWithChannel()
  send({ coin: 'BTC', time: venue.nowMs, mark: '101', mid: null })
  expect(marks()).toMatchObject([{ midPrice: null }])
})

test.each([
  ['an invalid figure', { mark: '-1' }, { reason: 'bad_price', field: 'mark', coin: 'BTC' }],
  ['figures that contradict each other', { mid: '300' }, { reason: 'bad_price', coin: 'BTC' }],
  ['an unknown coin', { coin: '@1' }, { reason: 'unknown_coin', field: 'coin', coin: null }],
])('%s drops the row and names field and coin', (_, change, dropped) => {
  const { venue, run, send, marks } = feedWithChannel()
  send({ coin: 'BTC', time: venue.nowMs, mark: '101', mid: '100', ...change })
  expect(marks()).toEqual([])
  expect(run.notices).toContainEqual(expect.objectContaining({ kind: 'value-dropped', ...dropped }))
})
