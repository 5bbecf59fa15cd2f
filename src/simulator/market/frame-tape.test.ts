import { beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { venueCadences, venueLimits } from '../venue/limits.ts'
import { ScriptedClient } from '../venue/testing/scripted-client.ts'
import { Venue } from '../venue/venue.ts'
import { tapesOfFrames } from './frame-tape.ts'
import type { Market } from './market.ts'
import { recordingMarket } from './recording-market.ts'
import { seededMarket } from './seeded-market.ts'

const HEARD_FROM_MS = Date.UTC(2026, 9, 7, 15, 7, 33, 211)
const HEARD_MS = 120_000
/** Another day, when it plays again. */
const JOIN_MS = Date.UTC(2026, 11, 24, 3, 4, 5, 678)

describe('frames received by a client of the venue', () => {
  let texts: readonly string[]
  let heard: Market

  /** Two minutes, the second over a new connection, on which the venue repeats old trades. */
  beforeAll(() => {
    const clock = new ManualClock(HEARD_FROM_MS)
    heard = seededMarket({ seed: 5, startMs: HEARD_FROM_MS })
    const venue = new Venue({ market: heard, clock, limits: venueLimits, cadences: venueCadences })
    texts = [1, 2].flatMap(() => {
      const client = new ScriptedClient(venue)
      for (const coin of ['BTC', 'SOL'])
        for (const type of ['l2Book', 'trades']) client.subscribe({ type, coin })
      clock.advance(HEARD_MS / 2)
      return client.texts
    })
  })

  test('play again as a market: the same trades, each once, in the same spacing', () => {
    const market = playedAgain(texts)
    const again = market.trades('SOL', JOIN_MS - 1, JOIN_MS + HEARD_MS - 5_000)
    const first = again[0]
    expect(again.length).toBeGreaterThan(20)
    const fromMs = (first?.timeMs ?? 0) - market.clockShiftMs
    const untilMs = (again.at(-1)?.timeMs ?? 0) - market.clockShiftMs
    const told = heard.trades('SOL', fromMs - 1, untilMs)
    expect(again.map(essence(market.clockShiftMs))).toEqual(told.map(essence(0)))
  })

  test('replay as a market: the newest published book', () => {
    const market = playedAgain(texts)
    const told = bookFrames('BTC').at(-2)
    const book = market.book('BTC', (told?.time ?? 0) + market.clockShiftMs, 20)
    const prices = (side: readonly { readonly price: number }[]) => side.map(({ price }) => price)
    expect([prices(book.bids), prices(book.asks)]).toEqual(
      told?.levels.map((side) => side.map(({ px }) => Number(px))),
    )
  })

  test('leave the other coins to the model', () => {
    const base = seededMarket({ seed: 1, startMs: JOIN_MS })
    expect(playedAgain(texts).book('ETH', JOIN_MS, 20)).toEqual(base.book('ETH', JOIN_MS, 20))
  })

  test('are left out where they came broken', () => {
    const broken = texts.flatMap((text) => [text.slice(0, -9), text, '[]', '{"channel":"trades"}'])
    const [whole, kept] = [tapesOfFrames(texts), tapesOfFrames(broken)]
    expect(kept.get('BTC')?.trades).toEqual(whole.get('BTC')?.trades)
    expect(kept.get('BTC')?.snapshots).toHaveLength(whole.get('BTC')?.snapshots.length ?? 0)
  })

  test('are no market without a book and a trade of one coin', () => {
    const books = texts.filter((text) => text.includes('l2Book'))
    expect(() => playedAgain(books)).toThrow('nothing long enough')
  })

  function bookFrames(coin: string) {
    return texts
      .filter((text) => text.startsWith(`{"channel":"l2Book","data":{"coin":"${coin}"`))
      .map((text) => (JSON.parse(text) as { data: BookWire }).data)
  }
})

type BookWire = {
  readonly time: number
  readonly levels: readonly (readonly { readonly px: string }[])[]
}

function playedAgain(texts: readonly string[]): Market {
  const base = seededMarket({ seed: 1, startMs: JOIN_MS })
  return recordingMarket(tapesOfFrames(texts), base, { startMs: JOIN_MS })
}

function essence(shiftMs: number) {
  return ({ id, timeMs, side, price, sizeBase }: ReturnType<Market['trades']>[number]) => ({
    id,
    timeMs: timeMs - shiftMs,
    side,
    price,
    sizeBase,
  })
}
